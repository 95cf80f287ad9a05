#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/safetensors.h"
#include "weir/tensor_spec.h"

namespace weir {

/// What a shard file holds, against what the manifest says of it. Borrows the header.
class ShardFileEntries {
 public:
  ShardFileEntries(std::string path, const SafetensorsHeader& header);

  /// The file's entry of `listed`, which is of `tensor`. Errors (exit code 3): kDataLoss, naming
  /// the file and the entry, if it is not there or of another dtype or shape (then both).
  absl::StatusOr<const SafetensorsEntry*> Find(const TensorSpec& tensor,
                                               const ManifestEntry& listed) const;

 private:
  const std::string path_;
  absl::flat_hash_map<absl::string_view, const SafetensorsEntry*> by_name_;
};

}  // namespace weir
