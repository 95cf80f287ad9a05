#include <vector>

#include "tests/integration/odd_tensors_suite.h"

namespace weir::testing {
namespace {

std::vector<OddTensorsCase> OfEachFabric() {
  std::vector<OddTensorsCase> cases;
  for (const Fabric fabric : kFabrics) cases.push_back({.fabric = fabric});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(On, OddTensorsTest, ::testing::ValuesIn(OfEachFabric()),
                         [](const auto& info) { return NameOf(info.param.fabric); });

}  // namespace
}  // namespace weir::testing
