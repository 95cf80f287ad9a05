#include "tests/unit/checkpoint/sample_checkpoint.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/checkpoint_name.h"
#include "common/checkpoint/shard_file_writer.h"
#include "common/model/layout.h"

namespace weir {
namespace fs = std::filesystem;

TempFolder::TempFolder() {
  std::string name = (fs::temp_directory_path() / "weir-checkpoint-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> TempFolder::Names(const std::string& folder) const {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? path_ : folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<TensorSpec> SampleTensors() {
  return {{.name = "dense/kernel", .shape = {1000, 180}},  // 4 blocks
          {.name = "dense/bias", .shape = {64}},
          {.name = "scale", .shape = {}},
          {.name = "empty", .shape = {0, 4}},
          {.name = "conv \"\xc3\xa9\"", .shape = {3, 3, 1, 32}}};
}

float SampleValue(std::size_t tensor, std::int64_t element) {
  return static_cast<float>(tensor * 1'000'000) + static_cast<float>(element) * 0.5F;
}

absl::StatusOr<Manifest> WriteSampleFiles(const std::string& folder, Step step, int shards) {
  WEIR_ASSIGN_OR_RETURN(const Layout layout, Layout::Create(SampleTensors(), shards));
  Manifest manifest{.job = "sample",
                    .step = step,
                    .created = absl::FromUnixSeconds(1'700'000'000),
                    .tensors = SampleTensors(),
                    .shards = shards,
                    .optimizer = "sgd",
                    .chief = Incarnation(0xabcd)};
  for (int s = 0; s < shards; ++s) {
    const ShardIndex shard(static_cast<std::uint16_t>(s));
    WEIR_ASSIGN_OR_RETURN(ShardFileWriter writer,
                          ShardFileWriter::Create(folder, ShardFileName(shard, shards),
                                                  PlanShardFile(layout, shard)));
    const auto blocks = layout.blocks_of(shard);
    for (std::size_t i = blocks.size(); i-- > 0;) {  // any order will do
      const Block& block = layout.block(blocks[i]);
      std::vector<float> values(static_cast<std::size_t>(block.elements));
      for (std::size_t e = 0; e < values.size(); ++e) {
        values[e] = SampleValue(block.tensor, block.offset + static_cast<std::int64_t>(e));
      }
      WEIR_RETURN_IF_ERROR(writer.Append(i, values));
    }
    WEIR_ASSIGN_OR_RETURN(ManifestFile file, writer.Finish());
    file.worker_clocks = {7, 9};
    manifest.files.push_back(std::move(file));
  }
  return manifest;
}

absl::StatusOr<std::string> WriteSample(const std::string& model_dir, Step step, int shards) {
  const std::string folder = absl::StrCat(model_dir, "/", CheckpointFolderName(step));
  fs::create_directory(folder);
  WEIR_ASSIGN_OR_RETURN(const Manifest manifest, WriteSampleFiles(folder, step, shards));
  WEIR_RETURN_IF_ERROR(WriteManifest(folder, manifest));
  return folder;
}

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteText(const std::string& path, const std::string& text) {
  // A new file: ext4 writes one that was truncated out to the disk at once, which takes long.
  std::error_code ignored;
  fs::remove(path, ignored);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace weir
