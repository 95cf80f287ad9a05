#include "runtime/model_dir_store.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/atomic_file.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/checkpoint_directory.h"
#include "common/checkpoint/manifest.h"

namespace weir {
namespace {

ManifestFile FileOf(const chief::StoredShard& shard) {
  ManifestFile file{.file = shard.file,
                    .bytes = shard.file_bytes,
                    .entries = {},
                    .worker_clocks = shard.worker_clocks};
  for (const chief::StoredPart& part : shard.parts) {
    file.entries.push_back({.tensor = part.tensor,
                            .offset = static_cast<std::int64_t>(part.offset),
                            .elements = static_cast<std::int64_t>(part.elements),
                            .checksum = part.checksum});
  }
  return file;
}

// A ps on another host may have written somewhere else, whatever it says.
absl::Status CheckIsThere(const std::string& path, std::uint64_t bytes) {
  std::error_code error;
  const std::uint64_t found = std::filesystem::file_size(path, error);
  if (error) return absl::DataLossError(absl::StrCat(path, ": ", error.message()));
  if (found != bytes) {
    return absl::DataLossError(absl::StrCat(path, " has ", found, " bytes; its ps wrote ", bytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ModelDirStore::Commit(const chief::CheckpointRecord& record) {
  Manifest manifest{.job = facts_.job,
                    .step = record.step,
                    .is_final = record.is_final,
                    .created = absl::Now(),
                    .tensors = facts_.tensors,
                    .shards = facts_.shards,
                    .files = {},
                    .optimizer = facts_.optimizer,
                    .optimizer_slots = {},
                    .chief = facts_.chief};
  for (const chief::StoredShard& shard : record.shards) {
    if (shard.file.empty()) continue;  // a shard without blocks
    WEIR_RETURN_IF_ERROR(
        CheckIsThere(absl::StrCat(PathOf(record.folder), "/", shard.file), shard.file_bytes));
    manifest.files.push_back(FileOf(shard));
  }
  WEIR_RETURN_IF_ERROR(WriteManifest(PathOf(record.folder), manifest));
  // The folder itself is new too: older checkpoints are pruned on the strength of this one.
  return SyncFolder(model_dir_);
}

absl::Status ModelDirStore::MarkFinal(const std::string& folder) {
  return weir::MarkFinal(PathOf(folder));
}

absl::Status ModelDirStore::Prune(int keep) { return weir::Prune(model_dir_, keep); }

std::string ModelDirStore::PathOf(const std::string& folder) const {
  return absl::StrCat(model_dir_, "/", folder);
}

}  // namespace weir
