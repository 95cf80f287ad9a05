#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/bytes.h"

namespace weir {

struct SourceTensor {
  std::string name;
  std::string dtype;  ///< as safetensors has it
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
};

/// The tensors of a checkpoint or of a safetensors file, one like the other.
/// Threads: one at a time. Errors: exit code 3, naming the file.
class TensorSource {
 public:
  /// A folder is a checkpoint, whose tensors are joined from its shards; all else is taken for a
  /// safetensors file. Errors: as CheckpointReader::Open and SafetensorsFile::Open.
  static absl::StatusOr<std::unique_ptr<TensorSource>> Open(const std::string& path);

  virtual ~TensorSource() = default;

  /// By ascending name.
  std::span<const SourceTensor> tensors() const { return tensors_; }

  /// Fills `out` from byte `offset` of a tensor (index into tensors()) on. Both ends lie at a
  /// multiple of 8 bytes, or at the tensor's end; `out` is aligned to 8.
  /// Errors: kDataLoss for a wrong checksum, too.
  virtual absl::Status Read(std::size_t tensor, std::uint64_t offset, MutableByteSpan out) = 0;

 protected:
  std::vector<SourceTensor> tensors_;
};

}  // namespace weir
