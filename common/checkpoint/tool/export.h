#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace weir {

struct ExportOptions {
  bool overwrite = false;    ///< replace a file that is there
  std::string weir_version;  ///< for the file's metadata
};

/// Joins the shards of a checkpoint into one safetensors file of whole tensors, ordered by name as
/// the reference implementation orders them, with the metadata `step`, `job` and `weir_version`.
/// The same checkpoint gives the same bytes. Every checksum is verified on the way. The file
/// appears whole and durable under its name, or not at all. Memory: the manifest, and 1 MiB.
/// Returns the file's size. Errors: exit code 3 as CheckpointReader; exit code 2, kAlreadyExists
/// where `file` is there and is not to be replaced, or its folder cannot be written; exit code 1
/// where the disk is full.
absl::StatusOr<std::uint64_t> ExportCheckpoint(const std::string& checkpoint,
                                               const std::string& file,
                                               const ExportOptions& options);

}  // namespace weir
