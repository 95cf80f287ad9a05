#include "common/checkpoint/tool/import.h"

#include <sys/stat.h>

#include <cerrno>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/atomic_file.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/unique_fd.h"
#include "common/checkpoint/checkpoint_directory.h"
#include "common/checkpoint/checkpoint_name.h"
#include "common/checkpoint/folder_removal.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/model_dir.h"
#include "common/checkpoint/model_match.h"
#include "common/checkpoint/safetensors_dtype.h"
#include "common/checkpoint/safetensors_file.h"
#include "common/checkpoint/shard_file_writer.h"
#include "common/checkpoint/tool/float_conversion.h"
#include "common/model/layout.h"
#include "common/model/tensor_name.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

constexpr std::size_t kMaxNamed = 10;

template <typename... Parts>
absl::Status BadFile(const std::string& path, const Parts&... parts) {
  return WithExitCode(absl::InvalidArgumentError(absl::StrCat(path, ": ", parts...)),
                      ExitCode::kBadData);
}

/// Names every tensor that cannot be taken, up to a limit.
absl::Status CheckDtypes(const SafetensorsFile& file, bool convert) {
  std::string others;
  std::size_t count = 0;
  bool convertible = true;
  for (const SafetensorsEntry& entry : file.header().entries) {
    if (entry.dtype == "F32" || (convert && ConvertsToFloat(entry.dtype))) continue;
    convertible = convertible && ConvertsToFloat(entry.dtype);
    if (++count > kMaxNamed) continue;
    absl::StrAppend(&others, count == 1 ? "" : ", ", QuotedName(entry.name), " is ", entry.dtype);
  }
  if (count == 0) return absl::OkStatus();
  if (count > kMaxNamed) absl::StrAppend(&others, " and ", count - kMaxNamed, " more");
  return BadFile(file.path(), others, "; weir stores F32: ",
                 !convert && convertible ? "give --convert to have them converted"
                                         : "convert or leave them out before the import");
}

absl::StatusOr<std::vector<TensorSpec>> TensorsOf(const SafetensorsFile& file,
                                                  const ImportOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckDtypes(file, options.convert));
  std::vector<TensorSpec> tensors;
  for (const SafetensorsEntry& entry : file.header().entries) {
    tensors.push_back({.name = entry.name, .shape = entry.shape});
  }
  if (tensors.empty()) return BadFile(file.path(), "it holds no tensor");
  if (const absl::Status valid = ValidateTensors(tensors); !valid.ok()) {
    return BadFile(file.path(), valid.message());
  }
  if (!options.model.has_value()) return tensors;
  if (const auto mismatch = ModelMismatch(tensors, *options.model); mismatch.has_value()) {
    return BadFile(file.path(), "it is of another model than job ", options.job, ": ", *mismatch);
  }
  return tensors;
}

absl::StatusOr<Step> StepFor(const SafetensorsFile& file, const ImportOptions& options) {
  if (options.step.has_value()) return Step(*options.step);
  const auto found = file.header().metadata.find("step");
  if (found == file.header().metadata.end()) return Step(0);
  std::uint64_t step = 0;
  if (absl::SimpleAtoi(found->second, &step)) return Step(step);
  return BadFile(file.path(), "its metadata says step ", QuotedName(found->second),
                 ", no number: give --step");
}

std::string JobFor(const SafetensorsFile& file, const ImportOptions& options) {
  if (!options.job.empty()) return options.job;
  const auto found = file.header().metadata.find("job");
  return found == file.header().metadata.end() ? "imported" : found->second;
}

absl::Status CheckIsNewest(const std::string& model_dir, Step step) {
  WEIR_ASSIGN_OR_RETURN(const auto newest, NewestCheckpoint(model_dir));
  if (!newest.has_value() || newest->step < step) return absl::OkStatus();
  return WithExitCode(absl::FailedPreconditionError(absl::StrCat(
                          "model directory ", model_dir, " holds ", newest->name,
                          ", which a job would go on from instead of step ", step.value(),
                          ": give a higher --step, or another directory")),
                      ExitCode::kBadUsage);
}

/// Of one tensor after the other, in pieces of a block.
class Copy {
 public:
  Copy(const SafetensorsFile& file, const Layout& layout) : file_(file), layout_(layout) {
    const std::vector<SafetensorsEntry>& entries = file.header().entries;
    for (std::size_t i = 0; i < entries.size(); ++i) entries_.emplace(entries[i].name, i);
  }

  absl::StatusOr<ManifestFile> To(const std::string& folder) {
    constexpr ShardIndex kShard(0);
    WEIR_ASSIGN_OR_RETURN(
        ShardFileWriter writer,
        ShardFileWriter::Create(folder, ShardFileName(kShard, 1), PlanShardFile(layout_, kShard)));
    const auto blocks = layout_.blocks_of(kShard);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      WEIR_RETURN_IF_ERROR(CopyBlock(layout_.block(blocks[i]), i, writer));
    }
    return writer.Finish();
  }

 private:
  absl::Status CopyBlock(const Block& block, std::size_t index, ShardFileWriter& writer) {
    const std::size_t entry = entries_.at(layout_.tensors()[block.tensor].name);
    const std::string& dtype = file_.header().entries[entry].dtype;
    const std::uint64_t width = SafetensorsBits(dtype) / 8;
    raw_.resize(static_cast<std::size_t>(block.elements) * width);
    values_.resize(static_cast<std::size_t>(block.elements));
    WEIR_RETURN_IF_ERROR(file_.Read(entry, static_cast<std::uint64_t>(block.offset) * width, raw_));
    ToFloats(dtype, raw_, values_);
    return writer.Append(index, values_);
  }

  const SafetensorsFile& file_;
  const Layout& layout_;
  absl::flat_hash_map<absl::string_view, std::size_t> entries_;
  std::vector<std::byte> raw_;
  std::vector<float> values_;
};

absl::Status MakeFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0777) == 0) return absl::OkStatus();
  // What a run that died left there is no checkpoint, and goes.
  if (errno == EEXIST) return RemoveCheckpointFiles(folder);
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot make the folder ", folder));
}

absl::Status WriteCheckpoint(const SafetensorsFile& file, const Layout& layout,
                             const std::string& folder, Manifest manifest) {
  WEIR_ASSIGN_OR_RETURN(ManifestFile stored, Copy(file, layout).To(folder));
  manifest.files.push_back(std::move(stored));
  return WriteManifest(folder, manifest);
}

}  // namespace

absl::StatusOr<Imported> ImportSafetensors(const std::string& file, const std::string& model_dir,
                                           const ImportOptions& options) {
  WEIR_ASSIGN_OR_RETURN(const SafetensorsFile source, SafetensorsFile::Open(file));
  WEIR_ASSIGN_OR_RETURN(std::vector<TensorSpec> tensors, TensorsOf(source, options));
  WEIR_ASSIGN_OR_RETURN(const Step step, StepFor(source, options));
  WEIR_ASSIGN_OR_RETURN(const Layout layout, Layout::Create(tensors, 1));

  WEIR_RETURN_IF_ERROR(CheckWritable(model_dir));
  WEIR_ASSIGN_OR_RETURN(const UniqueFd claim, ClaimModelDir(model_dir));
  WEIR_RETURN_IF_ERROR(CheckIsNewest(model_dir, step));
  Imported result{.checkpoint = absl::StrCat(model_dir, "/", CheckpointFolderName(step)),
                  .step = step,
                  .tensors = tensors.size(),
                  .parameters = layout.elements()};
  WEIR_RETURN_IF_ERROR(MakeFolder(result.checkpoint));
  const absl::Status written = WriteCheckpoint(source, layout, result.checkpoint,
                                               {.job = JobFor(source, options),
                                                .step = step,
                                                .created = absl::Now(),
                                                .tensors = std::move(tensors),
                                                .shards = 1,
                                                .files = {},
                                                .optimizer = "none",
                                                .optimizer_slots = {},
                                                .chief = {}});
  if (!written.ok()) {
    if (const absl::Status removed = RemoveCheckpoint(result.checkpoint); !removed.ok()) {
      LogWarning(removed.message());
    }
    return written;
  }
  WEIR_RETURN_IF_ERROR(SyncFolder(model_dir));
  return result;
}

}  // namespace weir
