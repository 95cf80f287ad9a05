#include "common/net/one_sided_trial.h"

#include "common/net/loopback.h"
#include "gtest/gtest.h"

namespace weir::net {
namespace {

TEST(OneSidedTrialTest, PassesWhereReadsWork) {
  const auto fabric = LoopbackFabric::Create();
  EXPECT_EQ(TryOneSidedRead(fabric->CreateTransport(), absl::Seconds(10)), absl::OkStatus());
}

TEST(OneSidedTrialTest, ATrialWithoutAnEndIsGivenUp) {
  const auto fabric = LoopbackFabric::Create();
  const absl::Status status = TryOneSidedRead(fabric->CreateTransport(), absl::ZeroDuration());
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

}  // namespace
}  // namespace weir::net
