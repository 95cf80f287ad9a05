#include "tests/integration/one_sided_suite.h"

namespace weir::testing {

INSTANTIATE_TEST_SUITE_P(On, OneSidedTest,
                         ::testing::Values(OneSidedCase{Fabric::kLoopbackOneSided, 2000}));

}  // namespace weir::testing
