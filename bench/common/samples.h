#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace weir::bench {

/// What one process measured of one kind of operation.
struct Samples {
  std::vector<std::uint64_t> nanoseconds;  ///< of each timed iteration, in their order
  std::uint64_t wrong = 0;                 ///< elements that had not the value they must have

  void Add(absl::Duration time) {
    nanoseconds.push_back(static_cast<std::uint64_t>(absl::ToInt64Nanoseconds(time)));
  }
  /// One line, and back. Errors: kInternal for what is no such line.
  std::string ToJson() const;
  static absl::StatusOr<Samples> FromJson(const std::string& line);
};

/// Of all samples of all processes: never an average of averages.
struct Distribution {
  std::uint64_t count = 0;
  double p50_us = 0, p99_us = 0, p999_us = 0, max_us = 0;
  double mean_us = 0;
};

/// The smallest sample that at least the given share of them does not exceed (nearest rank).
/// All zeros without samples.
Distribution DistributionOf(std::vector<std::uint64_t> nanoseconds);

}  // namespace weir::bench
