// Who is let in, and what the others are told.
#include <atomic>

#include "common/model/protocol.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"
#include "weir/exit_code.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Layout SmallLayout(std::int64_t size = 100) { return *Layout::Create({Tensor("a", {size})}, 1); }

struct Refusal {
  std::string name;
  std::function<void(wire::ConnectRequestT&)> change;
  std::string reason;
  bool retry = false;
};

std::vector<Refusal> Refusals() {
  return {
      {"Protocol", [](auto& r) { r.protocol = kProtocolVersion + 1; }, "it speaks protocol "},
      {"Transport", [](auto& r) { r.transport = "pigeon"; }, "transport 'pigeon'"},
      {"UcxSeries", [](auto& r) { r.ucx_version = "1.99.0"; }, "runs UCX 1.99.0"},
      {"NoUcxVersion", [](auto& r) { r.ucx_version = ""; }, "install the same"},
      {"Layout", [](auto& r) { ++r.layout_fingerprint; }, "its model, or the number of ps"},
      {"WorkerIndex", [](auto& r) { r.worker = 4; }, "worker 4 is not in this cluster"},
      {"NoAddress", [](auto& r) { r.data_address.clear(); }, "data address is empty"},
      {"Incarnation", [](auto& r) { ++r.incarnation; }, "worker 0 is not in this ps's view 1 yet",
       true},
      {"NotJoined", [](auto& r) { r.worker = 1; }, "worker 1 is not in this ps's view 1 yet", true},
  };
}

class RefusalTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, NamesTheReason) {
  DataPlane plane(SmallLayout(), {.fabric = Fabric::kUcxTcp});
  plane.Join(kA);
  const auto transport = plane.CreateTransport();
  const std::string address = transport->address();
  wire::ConnectRequestT request = plane.RequestOf(kA);
  request.data_address.assign(address.begin(), address.end());
  GetParam().change(request);
  const auto reply = plane.Call(ShardIndex(0), request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_FALSE(reply->accepted);
  EXPECT_EQ(reply->session, 0U);
  EXPECT_THAT(reply->reason, HasSubstr(GetParam().reason));
  EXPECT_EQ(reply->retry, GetParam().retry) << reply->reason;
}

INSTANTIATE_TEST_SUITE_P(Of, RefusalTest, ::testing::ValuesIn(Refusals()),
                         [](const auto& info) { return info.param.name; });

TEST(ConnectTest, AnUnusableAddressIsRefused) {
  DataPlane plane(SmallLayout(), {.fabric = Fabric::kUcxTcp});
  plane.Join(kA);
  wire::ConnectRequestT request = plane.RequestOf(kA);
  request.data_address = {1, 2, 3};
  const auto reply = plane.Call(ShardIndex(0), request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_FALSE(reply->accepted);
  EXPECT_FALSE(reply->retry);
  EXPECT_NE(reply->reason, "");
}

TEST(ConnectTest, AClientOfAnotherModelIsRefusedForGood) {
  DataPlane plane(SmallLayout(100), {.fabric = Fabric::kUcxTcp});
  plane.Join(kA);
  const Layout other = SmallLayout(101);
  int calls = 0;
  Within(absl::Seconds(10), [&] {
    const auto client = DataClient::Connect(other, plane.OptionsOf(kA), plane.CreateTransport(),
                                            [&](ShardIndex shard, const auto& request) {
                                              ++calls;
                                              return plane.Call(shard, request);
                                            });
    EXPECT_EQ(client.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ExitCodeOf(client.status()), ExitCode::kBadUsage);
    EXPECT_THAT(std::string(client.status().message()),
                AllOf(HasSubstr("ps 0 refused"), HasSubstr("its model")));
  });
  EXPECT_EQ(calls, 1) << "a permanent refusal is not asked again";
}

TEST(ConnectTest, AWorkerThatNeverJoinsIsToldAtItsDeadline) {
  DataPlane plane(SmallLayout(), {});
  DataClientOptions options = plane.OptionsOf(kA);
  options.connect_deadline = absl::Milliseconds(200);
  Within(absl::Seconds(10), [&] {
    const auto client = plane.TryConnect(options, plane.connector());
    EXPECT_EQ(client.status().code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_EQ(ExitCodeOf(client.status()), ExitCode::kPeerLost);
    EXPECT_THAT(std::string(client.status().message()),
                HasSubstr("worker 0 is not in this ps's view 0 yet"));
  });
}

class ConnectLaterTest : public ::testing::TestWithParam<Fabric> {};

TEST_P(ConnectLaterTest, AClientAsksAgainUntilItsViewHasCome) {
  DataPlane plane(SmallLayout(), {.fabric = GetParam()});
  plane.Join(kA);
  DataClientOptions options = plane.OptionsOf(kA);
  plane.Leave(kA);
  // The next incarnation joins only when the first answer was "not yet".
  std::atomic<int> refused = 0;
  Within(absl::Seconds(20), [&] {
    const auto client = plane.TryConnect(options, [&](ShardIndex shard, auto request) {
      if (refused > 0) request.incarnation = plane.OptionsOf(kA).incarnation.value();
      auto reply = plane.Call(shard, request);
      if (reply.ok() && reply->retry && refused++ == 0) plane.Join(kA);
      return reply;
    });
    ASSERT_TRUE(client.ok()) << client.status();
  });
  EXPECT_GE(refused, 1);
}

INSTANTIATE_TEST_SUITE_P(On, ConnectLaterTest, ::testing::ValuesIn(kFabrics),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::testing
