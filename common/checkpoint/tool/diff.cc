#include "common/checkpoint/tool/diff.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/model/layout.h"

namespace weir {
namespace {

/// Whole blocks, as shards cut tensors, so that no checksum needs a second reading.
constexpr std::uint64_t kChunkBytes = 4 * kMaxBlockBytes;

struct Sums {
  double difference = 0;
  double a = 0;
};

void AddValues(std::span<const float> a, std::span<const float> b, Distance& distance, Sums& sums) {
  distance.elements += a.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double value = a[i];
    if (std::isfinite(value)) sums.a += value * value;
    if (std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i])) continue;
    ++distance.different;
    const double difference = std::abs(static_cast<double>(b[i]) - value);
    if (!std::isfinite(difference)) {
      ++distance.no_distance;
      continue;
    }
    distance.max_abs = std::max(distance.max_abs, difference);
    sums.difference += difference * difference;
  }
}

class Comparer {
 public:
  Comparer(TensorSource& a, TensorSource& b)
      : a_(a), b_(b), buffer_a_(kChunkBytes / 4), buffer_b_(kChunkBytes / 4) {}

  /// Merges two lists that are ordered by name.
  absl::StatusOr<Comparison> Run() {
    const std::span<const SourceTensor> a = a_.tensors();
    const std::span<const SourceTensor> b = b_.tensors();
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() || j < b.size()) {
      const bool take_a = j == b.size() || (i < a.size() && a[i].name <= b[j].name);
      const bool take_b = i == a.size() || (j < b.size() && b[j].name <= a[i].name);
      if (take_a && take_b) {
        WEIR_RETURN_IF_ERROR(CompareTensor(i, j));
      } else if (take_a) {
        Add({.kind = TensorDifference::Kind::kOnlyInA, .tensor = a[i].name, .a = a[i]});
      } else {
        Add({.kind = TensorDifference::Kind::kOnlyInB, .tensor = b[j].name, .b = b[j]});
      }
      i += take_a ? 1 : 0;
      j += take_b ? 1 : 0;
    }
    return std::move(result_);
  }

 private:
  void Add(TensorDifference difference) { result_.differences.push_back(std::move(difference)); }

  absl::Status CompareTensor(std::size_t i, std::size_t j) {
    const SourceTensor& a = a_.tensors()[i];
    const SourceTensor& b = b_.tensors()[j];
    TensorDifference found{
        .kind = TensorDifference::Kind::kValues, .tensor = a.name, .a = a, .b = b};
    if (a.dtype != b.dtype || a.shape != b.shape) {
      found.kind = TensorDifference::Kind::kType;
      Add(std::move(found));
      return absl::OkStatus();
    }
    Distance distance;
    Sums sums;
    bool equal = true;
    for (std::uint64_t done = 0; done < a.bytes;) {
      const auto size = static_cast<std::size_t>(std::min(kChunkBytes, a.bytes - done));
      const MutableByteSpan part_a = std::as_writable_bytes(std::span(buffer_a_)).first(size);
      const MutableByteSpan part_b = std::as_writable_bytes(std::span(buffer_b_)).first(size);
      WEIR_RETURN_IF_ERROR(a_.Read(i, done, part_a));
      WEIR_RETURN_IF_ERROR(b_.Read(j, done, part_b));
      equal = equal && std::ranges::equal(part_a, part_b);
      if (a.dtype == "F32") {
        AddValues(std::span(buffer_a_).first(size / 4), std::span(buffer_b_).first(size / 4),
                  distance, sums);
      }
      done += size;
    }
    if (equal) {
      ++result_.equal;
      return absl::OkStatus();
    }
    if (a.dtype == "F32") {
      distance.l2 = std::sqrt(sums.difference);
      if (sums.a > 0) distance.relative = distance.l2 / std::sqrt(sums.a);
      found.distance = distance;
    }
    Add(std::move(found));
    return absl::OkStatus();
  }

  TensorSource& a_;
  TensorSource& b_;
  std::vector<float> buffer_a_;
  std::vector<float> buffer_b_;
  Comparison result_;
};

}  // namespace

absl::StatusOr<Comparison> ComparePaths(const std::string& a, const std::string& b) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<TensorSource> source_a, TensorSource::Open(a));
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<TensorSource> source_b, TensorSource::Open(b));
  return Comparer(*source_a, *source_b).Run();
}

}  // namespace weir
