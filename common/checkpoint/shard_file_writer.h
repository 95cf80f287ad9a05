#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/atomic_file.h"
#include "common/base/checksum.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/safetensors.h"
#include "common/checkpoint/shard_plan.h"

namespace weir {

/// Writes one shard's file piece by piece, so that the caller may release each block after its
/// Append. The file appears under its name at Finish only; before, its destruction leaves nothing.
/// Threads: one at a time; every call may block on the disk.
/// Errors name the path and what the system said: kResourceExhausted where the disk is full.
/// (Over a file size limit, `ulimit -f`, the kernel also sends SIGXFSZ: ignore it to get the
/// error.)
class ShardFileWriter {
 public:
  /// Writes the header of `entries` (see PlanShardFile) into a temporary file in `folder`, which
  /// must exist. `metadata`: of the file as a whole; shards have none.
  /// Errors: kInvalidArgument for entries or metadata that no safetensors header can hold.
  static absl::StatusOr<ShardFileWriter> Create(
      const std::string& folder, const std::string& file_name, std::vector<ShardEntry> entries,
      const std::map<std::string, std::string>& metadata = {});

  /// The next values of entry `entry` (index into `entries`). Entries may come in any order and
  /// each in any number of pieces; the pieces of one entry come in order. Copies nothing and keeps
  /// nothing: `values` may change once this returns.
  /// Errors: kInvalidArgument for an unknown entry or more values than it has.
  absl::Status Append(std::size_t entry, std::span<const float> values);

  /// Makes the file durable under its name. Returns its part of the manifest, with
  /// `worker_clocks` empty. Only once, and last.
  /// Errors: kFailedPrecondition if an entry lacks values.
  absl::StatusOr<ManifestFile> Finish();

 private:
  ShardFileWriter(AtomicFile file, std::string file_name, std::vector<ShardEntry> entries,
                  SafetensorsHeader header);

  AtomicFile file_;
  std::string file_name_;
  std::vector<ShardEntry> entries_;
  SafetensorsHeader header_;
  std::vector<std::int64_t> written_;               ///< elements, by entry
  std::vector<std::uint64_t> checksums_;            ///< of the entries that are whole
  std::map<std::size_t, RunningChecksum> running_;  ///< of those that came in part
};

}  // namespace weir
