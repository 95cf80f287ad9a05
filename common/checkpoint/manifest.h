#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "weir/tensor_spec.h"

namespace weir {

inline constexpr int kManifestVersion = 1;
inline constexpr char kManifestFileName[] = "manifest.json";
/// Above any that weir writes: two million blocks, 460 GB of weights, make about this much.
inline constexpr std::uint64_t kMaxManifestBytes = 256U << 20;

/// A run of elements that one shard file holds.
struct ManifestEntry {
  std::string tensor;
  std::int64_t offset = 0;  ///< first element within the tensor
  std::int64_t elements = 0;
  std::uint64_t checksum = 0;  ///< of the entry's bytes, common/base/checksum.h
};

struct ManifestFile {
  std::string file;  ///< name within the checkpoint's folder
  std::uint64_t bytes = 0;
  std::vector<ManifestEntry> entries;
  std::vector<std::uint32_t> worker_clocks;  ///< of this shard's cut, by worker index
};

/// What a checkpoint is: every tensor, and where each of its elements lies.
struct Manifest {
  std::string job;
  Step step;
  bool is_final = false;            ///< the job ended with this one
  absl::Time created;               ///< to the second
  std::vector<TensorSpec> tensors;  ///< initializers are not kept
  int shards = 0;                   ///< that wrote it; files may be fewer, never more
  std::vector<ManifestFile> files;
  std::string optimizer;
  std::vector<std::string> optimizer_slots;
  Incarnation chief;  ///< that committed it; 0: unknown
};

/// Bytes of all files together.
std::uint64_t StoredBytes(const Manifest& manifest);

/// Legal names and numbers, and each tensor covered by entries exactly: no hole, no overlap.
/// Errors: kInvalidArgument, naming the field or tensor and the elements in question.
absl::Status ValidateManifest(const Manifest& manifest);

/// The JSON text. Errors: as ValidateManifest; kInvalidArgument for a text that is not UTF-8.
absl::StatusOr<std::string> FormatManifest(const Manifest& manifest);

/// Decodes and validates. Keys that this version does not know are ignored.
/// Errors: kInvalidArgument, naming the key, what was expected and, for short values, found;
/// kUnimplemented for a later version of the format.
absl::StatusOr<Manifest> ParseManifest(absl::string_view text);

/// The commit of a checkpoint: FOLDER/manifest.json appears whole and durable, or not at all.
/// Call it once every shard file is durable. Replaces an older one.
absl::Status WriteManifest(const std::string& folder, const Manifest& manifest);

/// Errors (exit code 3), naming the file: kNotFound if there is none, kDataLoss if it is corrupt or
/// belongs to another step than its folder's name says, kUnimplemented for a later version.
absl::StatusOr<Manifest> ReadManifest(const std::string& folder);

}  // namespace weir
