#pragma once

#include <cstdint>
#include <ostream>

#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"

namespace weir::testing {

struct OneSidedCase {
  Fabric fabric = Fabric::kLoopbackOneSided;
  int pulls = 2000;                 ///< of the race
  std::int64_t elements = 130'000;  ///< of the larger tensor: three blocks, two of the largest size
};

inline std::ostream& operator<<(std::ostream& out, const OneSidedCase& of) {
  return out << NameOf(of.fabric);
}

/// Pulls from afar out of the memory of shards that apply pushes meanwhile:
/// `INSTANTIATE_TEST_SUITE_P(On, OneSidedTest, testing::Values(OneSidedCase{...}));`
class OneSidedTest : public ::testing::TestWithParam<OneSidedCase> {};

}  // namespace weir::testing
