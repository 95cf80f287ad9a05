#include "common/checkpoint/tool/export.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/shard_file_writer.h"
#include "common/model/layout.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

/// Whole blocks, as shards cut tensors, so that no checksum needs a second reading.
constexpr std::int64_t kChunkElements = 4 * kMaxBlockElements;

absl::Status CheckTarget(const std::string& file, bool overwrite) {
  std::error_code ignored;
  const fs::file_status found = fs::status(file, ignored);
  if (!fs::exists(found) || (overwrite && fs::is_regular_file(found))) return absl::OkStatus();
  const bool regular = fs::is_regular_file(found);
  return WithExitCode(absl::AlreadyExistsError(absl::StrCat(
                          file, regular ? " is there already: give another name, or --force to "
                                          "replace it"
                                        : " is there already, and is no file: give another name")),
                      ExitCode::kBadUsage);
}

std::vector<ShardEntry> WholeTensors(std::span<const TensorSpec> tensors) {
  std::vector<ShardEntry> entries;
  for (const TensorSpec& tensor : tensors) {
    entries.push_back(
        {.tensor = tensor.name, .tensor_shape = tensor.shape, .elements = tensor.elements()});
  }
  std::ranges::sort(entries, {}, &ShardEntry::tensor);
  return entries;
}

absl::Status CopyTensor(CheckpointReader& reader, const ShardEntry& tensor, std::size_t entry,
                        std::span<float> buffer, ShardFileWriter& writer) {
  for (std::int64_t done = 0; done < tensor.elements;) {
    const auto part = buffer.first(
        static_cast<std::size_t>(std::min<std::int64_t>(kChunkElements, tensor.elements - done)));
    WEIR_RETURN_IF_ERROR(reader.ReadRange(tensor.tensor, done, part));
    WEIR_RETURN_IF_ERROR(writer.Append(entry, part));
    done += static_cast<std::int64_t>(part.size());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::uint64_t> ExportCheckpoint(const std::string& checkpoint,
                                               const std::string& file,
                                               const ExportOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckTarget(file, options.overwrite));
  WEIR_ASSIGN_OR_RETURN(CheckpointReader reader, CheckpointReader::Open(checkpoint));
  const Manifest& manifest = reader.manifest();
  const std::vector<ShardEntry> tensors = WholeTensors(manifest.tensors);
  const fs::path path(file);
  absl::StatusOr<ShardFileWriter> writer = ShardFileWriter::Create(
      path.has_parent_path() ? path.parent_path().string() : ".", path.filename().string(), tensors,
      {{"step", absl::StrCat(manifest.step.value())},
       {"job", manifest.job},
       {"weir_version", options.weir_version}});
  WEIR_RETURN_IF_ERROR(WithExitCode(writer.status(), ExitCode::kBadUsage));
  std::vector<float> buffer(static_cast<std::size_t>(kChunkElements));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    WEIR_RETURN_IF_ERROR(CopyTensor(reader, tensors[i], i, buffer, *writer));
  }
  WEIR_ASSIGN_OR_RETURN(const ManifestFile written, writer->Finish());
  return written.bytes;
}

}  // namespace weir
