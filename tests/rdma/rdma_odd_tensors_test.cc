// Odd tensors over an RDMA device.
#include "tests/integration/odd_tensors_suite.h"

namespace weir::testing {

INSTANTIATE_TEST_SUITE_P(Rdma, OddTensorsTest,
                         // Emulated: ten thousand would take a minute.
                         ::testing::Values(OddTensorsCase{Fabric::kUcxRdma, 500}));

}  // namespace weir::testing
