// Pulls over an RDMA device, against pushes.
#include "tests/integration/one_sided_suite.h"

namespace weir::testing {

INSTANTIATE_TEST_SUITE_P(Rdma, OneSidedTest,
                         // 80 KB, 20 packets: emulated, larger ones would take minutes.
                         ::testing::Values(OneSidedCase{Fabric::kUcxRdma, 10'000, 20'000}));

}  // namespace weir::testing
