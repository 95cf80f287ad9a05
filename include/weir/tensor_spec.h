#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace weir {

/// The type of a tensor's elements.
enum class DType : std::uint8_t { kFloat32 };

/// How a tensor's first values are made.
enum class Initializer : std::uint8_t {
  kZeros,  ///< 0
  /// Uniform in +-sqrt(6 / (fan_in + fan_out)): Glorot and Bengio 2010, Keras's default. Fans as
  /// Keras computes them: of [.., in, out] the last two dimensions, times the rest.
  kGlorotUniform,
};

/// One dense tensor of a model: the contract between jobs, shards and checkpoints.
struct TensorSpec {
  std::string name;                 ///< UTF-8, unique in the model, without '@' and NUL
  DType dtype = DType::kFloat32;    ///< of its elements
  std::vector<std::int64_t> shape;  ///< empty: a scalar; a dimension may be 0
  Initializer initializer = Initializer::kZeros;  ///< of a job that starts at step 0

  /// Product of the dimensions; valid after ValidateTensors.
  std::int64_t elements() const;
};

/// Names what is wrong with the first bad tensor: an empty, duplicate or illegal name, a negative
/// dimension, a size that overflows.
absl::Status ValidateTensors(std::span<const TensorSpec> tensors);

}  // namespace weir
