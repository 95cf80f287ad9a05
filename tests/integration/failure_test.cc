// What ends an operation that cannot go on: the client's Abort, a server that stops, a connection
// that another one replaced. Nothing may hang, and every error has its type.
#include "common/base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"
#include "weir/exit_code.h"

namespace weir::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Far below any deadline of the client's own.
constexpr absl::Duration kPromptly = absl::Seconds(3);

class FailureTest : public ::testing::TestWithParam<Fabric> {
 protected:
  FailureTest()
      : plane_(*Layout::Create({Tensor("big", {200000}), Tensor("b", {50})}, 2),
               {.fabric = GetParam(), .max_steps = Step(max_steps_)}) {
    plane_.Join(kA), plane_.Join(kB);
  }

  /// Runs `operation` of a client against a ps that is frozen, aborts the client, and sees both the
  /// error and that it came promptly.
  void ExpectAbortEnds(
      int frozen_shard,
      const std::function<absl::Status(DataClient&, ParameterBuffer&)>& operation) {
    std::promise<DataClient*> ready;
    auto result = std::async(std::launch::async, [&] {
      const auto client = plane_.Connect(kA);
      auto buffer = client->AllocateParameters();
      plane_.Freeze(frozen_shard);
      ready.set_value(client.get());
      const absl::Status status = operation(*client, *buffer);
      const absl::Time ended = MonotonicNow();
      plane_.Thaw();
      return std::pair(status, ended);
    });
    auto future = ready.get_future();
    DataClient* const client = Await(future);
    const absl::Time aborted = MonotonicNow();
    client->Abort(absl::UnavailableError("the job ended"));
    const auto [status, ended] = Await(result);
    EXPECT_EQ(status, absl::UnavailableError("the job ended"));
    EXPECT_LT(ended - aborted, kPromptly);
  }

  static constexpr std::uint64_t max_steps_ = 4;
  DataPlane plane_;
};

TEST_P(FailureTest, AbortEndsAPull) {
  if (IsMapped(GetParam()) || IsOneSided(GetParam())) {
    GTEST_SKIP() << "the memory of a frozen ps serves pulls";
  }
  ExpectAbortEnds(1,
                  [](DataClient& client, ParameterBuffer& buffer) { return client.Pull(buffer); });
}

TEST_P(FailureTest, TheMemoryOfAFrozenPsServesPullsUntilTheViewChangesOrTheClientIsAborted) {
  if (!IsMapped(GetParam())) GTEST_SKIP() << "needs mapped memory";
  Within(absl::Seconds(30), [this] {
    DataClientOptions options = plane_.OptionsOf(kA);
    options.request_deadline = absl::Seconds(1);
    const auto client = *plane_.TryConnect(options, plane_.connector());
    const auto other = plane_.Connect(kB);
    auto buffer = client->AllocateParameters();
    ASSERT_EQ(client->Pull(*buffer), absl::OkStatus());
    plane_.Freeze(1);
    EXPECT_EQ(client->Pull(*buffer), absl::OkStatus());
    EXPECT_EQ(client->mapped_reads().blocks, 2 * plane_.layout().blocks().size());
    other->Abort(absl::UnavailableError("the job ended"));
    EXPECT_EQ(other->Pull(*buffer), absl::UnavailableError("the job ended"));
    EXPECT_EQ(other->mapped_reads().blocks, 0U);
    // The frozen ps does not get this one: it may be fenced, and what it has is no longer true.
    plane_.Leave(kB);
    const absl::Status late = client->Pull(*buffer);
    EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded) << late;
    plane_.Thaw();
  });
}

TEST_P(FailureTest, AbortEndsAPush) {
  ExpectAbortEnds(
      0, [](DataClient& client, ParameterBuffer& buffer) { return client.Push(buffer, Step(1)); });
}

TEST_P(FailureTest, AbortEndsARelease) {
  ExpectAbortEnds(
      0, [](DataClient& client, ParameterBuffer&) { return client.Release(std::nullopt); });
}

// A deadline of somebody else's, say: the wait has none of its own that could end it.
TEST_P(FailureTest, AbortEndsAWaitForOthersStepsWhateverItsCode) {
  const absl::Status why = absl::DeadlineExceededError("the lease of the chief ran out");
  std::promise<DataClient*> ready;
  auto result = std::async(std::launch::async, [&] {
    const auto holder = plane_.Connect(kB);
    auto held = holder->AllocateParameters();
    EXPECT_EQ(*holder->NextStep(std::nullopt, *held), Step(1));
    const auto client = plane_.Connect(kA);
    auto weights = client->AllocateParameters();
    std::optional<Step> completed;
    ready.set_value(client.get());
    while (true) {
      const auto step = client->NextStep(completed, *weights);
      if (!step.ok()) return std::pair(step.status(), MonotonicNow());
      completed = *step;
    }
  });
  auto future = ready.get_future();
  DataClient* const client = Await(future);
  // This report comes with the request that has to wait.
  EXPECT_TRUE(plane_.WaitForStep(Step(max_steps_ - 1)));
  const absl::Time aborted = MonotonicNow();
  client->Abort(why);
  const auto [status, ended] = Await(result);
  EXPECT_EQ(status, why);
  EXPECT_LT(ended - aborted, kPromptly);
}

// In one process shm cannot tell that a transport was closed; there the deadline speaks.
class StoppedServerTest : public FailureTest {
 protected:
  void ExpectEndsInAnError(
      const std::function<absl::Status(DataClient&, ParameterBuffer&)>& again) {
    std::promise<void> running;
    auto result = std::async(std::launch::async, [&] {
      DataClientOptions options = plane_.OptionsOf(kA);
      options.request_deadline = absl::Seconds(2);
      const auto client = *plane_.TryConnect(options, plane_.connector());
      auto buffer = client->AllocateParameters();
      absl::Status status = again(*client, *buffer);
      running.set_value();
      while (status.ok()) status = again(*client, *buffer);
      // Once more: it fails at once, or at its deadline, but it returns.
      EXPECT_FALSE(again(*client, *buffer).ok());
      return status;
    });
    auto future = running.get_future();
    Await(future);
    plane_.Destroy(1);
    const absl::Status status = Await(result);
    if (GetParam() == Fabric::kUcxShm || GetParam() == Fabric::kUcxShmMapped) {
      EXPECT_THAT(status.code(),
                  AnyOf(absl::StatusCode::kDeadlineExceeded, absl::StatusCode::kUnavailable))
          << status;
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      EXPECT_EQ(ExitCodeOf(status), ExitCode::kPeerLost);
    }
    EXPECT_THAT(std::string(status.message()), HasSubstr("ps 1"));
  }
};

TEST_P(StoppedServerTest, APullEndsInATypedError) {
  ExpectEndsInAnError(
      [](DataClient& client, ParameterBuffer& buffer) { return client.Pull(buffer); });
}

TEST_P(StoppedServerTest, APushEndsInATypedError) {
  ExpectEndsInAnError(
      [](DataClient& client, ParameterBuffer& buffer) { return client.Push(buffer, Step(1)); });
}

TEST_P(FailureTest, ASecondConnectionOfAWorkerReplacesTheFirst) {
  if (IsMapped(GetParam()) || IsOneSided(GetParam())) {
    GTEST_SKIP() << "who reads the memory asks no connection";
  }
  Within(absl::Seconds(30), [this] {
    DataClientOptions options = plane_.OptionsOf(kA);
    options.request_deadline = absl::Seconds(2);
    const auto first = *plane_.TryConnect(options, plane_.connector());
    auto buffer = first->AllocateParameters();
    ASSERT_EQ(first->Pull(*buffer), absl::OkStatus());
    const auto second = plane_.Connect(kA);
    auto weights = second->AllocateParameters();
    ASSERT_EQ(second->Pull(*weights), absl::OkStatus());
    // Its session is late now: nobody answers it.
    EXPECT_THAT(first->Pull(*buffer).code(),
                AnyOf(absl::StatusCode::kUnavailable, absl::StatusCode::kDeadlineExceeded));
    EXPECT_EQ(second->Pull(*weights), absl::OkStatus());
  });
}

// A new view closes the connections of who is not in it.
TEST_P(FailureTest, AnIncarnationThatIsOverGetsNothingDone) {
  Within(absl::Seconds(30), [this] {
    DataClientOptions options = plane_.OptionsOf(kA);
    options.request_deadline = absl::Seconds(2);
    const auto client = *plane_.TryConnect(options, plane_.connector());
    auto buffer = client->AllocateParameters();
    ASSERT_EQ(client->Push(*buffer, Step(1)), absl::OkStatus());
    plane_.Join(kA);  // another incarnation of it
    const auto fresh = plane_.Connect(kA);
    EXPECT_THAT(client->Push(*buffer, Step(2)).code(),
                AnyOf(absl::StatusCode::kFailedPrecondition, absl::StatusCode::kUnavailable,
                      absl::StatusCode::kDeadlineExceeded));
    auto weights = fresh->AllocateParameters();
    EXPECT_EQ(fresh->Push(*weights, Step(2)), absl::OkStatus());
  });
}

INSTANTIATE_TEST_SUITE_P(On, FailureTest, ::testing::ValuesIn(kFabrics),
                         [](const auto& info) { return NameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(On, StoppedServerTest, ::testing::ValuesIn(kFabrics),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::testing
