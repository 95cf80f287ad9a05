#include "common/base/clock.h"

#include <ctime>

namespace weir {

absl::Time MonotonicNow() {
  std::timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::TimeFromTimespec(now);
}

}  // namespace weir
