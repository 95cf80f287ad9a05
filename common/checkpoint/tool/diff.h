#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/checkpoint/tool/report.h"
#include "common/checkpoint/tool/tensor_source.h"

namespace weir {

/// How far the values of a tensor are apart. What is equal bit for bit counts as 0 apart, NaN and
/// infinity too; what is not, and has no distance (NaN, opposite infinities), is counted apart.
struct Distance {
  std::uint64_t elements = 0;
  std::uint64_t different = 0;     ///< not equal bit for bit: -0.0 and 0.0, too
  std::uint64_t no_distance = 0;   ///< of those
  double max_abs = 0;              ///< max |b - a|
  double l2 = 0;                   ///< sqrt(sum (b - a)^2)
  std::optional<double> relative;  ///< l2 / sqrt(sum a^2), over the finite; none where that is 0
};

/// One tensor that A and B do not have alike.
struct TensorDifference {
  enum class Kind {
    kOnlyInA,
    kOnlyInB,
    kType,    ///< another dtype or shape
    kValues,  ///< same dtype and shape, other bytes
  };
  Kind kind;
  std::string tensor;
  std::optional<SourceTensor> a;     ///< where A has it
  std::optional<SourceTensor> b;     ///< where B has it
  std::optional<Distance> distance;  ///< kValues of F32: other dtypes are compared by bytes only
};

struct Comparison {
  std::uint64_t equal = 0;                    ///< tensors that are equal bit for bit
  std::vector<TensorDifference> differences;  ///< by tensor
};

/// Compares tensors by name; order, shards and file headers do not matter. `a` and `b` may each be
/// a checkpoint's folder or a safetensors file. Memory: what the two list, and 4 MiB.
/// Errors (exit code 3): as TensorSource.
absl::StatusOr<Comparison> ComparePaths(const std::string& a, const std::string& b);

/// A line each difference, then a verdict. A difference is no error: the status is kOk.
Report ReportOn(const Comparison& comparison, ReportFormat format);

}  // namespace weir
