#pragma once

#include <ostream>

#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"

namespace weir::testing {

struct OddTensorsCase {
  Fabric fabric = Fabric::kLoopback;
  int many = 10'000;  ///< how many "very many" are
};

inline std::ostream& operator<<(std::ostream& out, const OddTensorsCase& of) {
  return out << of.fabric;
}

/// Tensors that no textbook has: empty, scalar, of odd length, with any name, and very many:
/// `INSTANTIATE_TEST_SUITE_P(On, OddTensorsTest, testing::Values(OddTensorsCase{...}));`
class OddTensorsTest : public ::testing::TestWithParam<OddTensorsCase> {};

}  // namespace weir::testing
