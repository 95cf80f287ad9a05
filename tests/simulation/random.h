#pragma once

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace weir::sim {

/// The only source of chance in a run. Draws are computed here, not by std's distributions, so that
/// a seed means the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in low..high.
  int Int(int low, int high) {
    return low + static_cast<int>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  double Unit() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
  bool Chance(double probability) { return Unit() < probability; }
  absl::Duration Upto(absl::Duration most) { return most * Unit(); }
  std::uint64_t Id() { return engine_() >> 16 | 1; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace weir::sim
