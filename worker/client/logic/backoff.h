#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace weir::client {

/// How long to wait before asking again after a refusal: `first`, then twice as long for each
/// further refusal of the same thing, up to `most`.
struct Backoff {
  absl::Duration first;
  absl::Duration most;

  /// After `refusals` in a row, at least one.
  absl::Duration After(int refusals) const {
    constexpr int kMostDoublings = 30;  // far beyond any sensible `most`
    return std::min(most, first * (std::int64_t{1} << std::min(refusals - 1, kMostDoublings)));
  }
};

}  // namespace weir::client
