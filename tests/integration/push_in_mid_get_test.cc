// What befalls a push while a shard reads its gradient from afar: the gets of the shards are held
// under way meanwhile, as those to a host that is gone are.
#include <algorithm>
#include <future>
#include <memory>

#include "gtest/gtest.h"
#include "ps_server/logic/push_fetches.h"
#include "tests/integration/data_plane.h"

namespace weir::testing {
namespace {

// All of them large, so that each is read, but for one.
constexpr int kBlocks = 12;
constexpr std::int64_t kElements = 50'000;

Layout TestLayout() {
  std::vector<TensorSpec> tensors = {Tensor("small", {10})};
  for (int i = 0; i < kBlocks; ++i) {
    tensors.push_back(Tensor("t" + std::to_string(i), {kElements}));
  }
  return *Layout::Create(std::move(tensors), 1);
}

void Fill(ParameterBuffer& buffer, float value) {
  for (std::size_t t = 0; t < buffer.tensors(); ++t) std::ranges::fill(buffer.tensor(t), value);
}

class PushInMidGetTest : public ::testing::Test {
 protected:
  PushInMidGetTest()
      : plane_(TestLayout(), {.fabric = Fabric::kLoopbackOneSided,
                              .max_workers = 2,
                              .learning_rate = 1.0F,
                              .held_gets = gets_}) {
    plane_.Join(kA), plane_.Join(kB);
  }

  // A worker with gradients of minus one, which the shard has opened.
  struct Worker {
    DataPlane::ClientPtr client;
    std::unique_ptr<ParameterBuffer> gradients;
  };
  Worker Start(WorkerIndex index, absl::Duration deadline = absl::Seconds(20)) {
    DataClientOptions options = plane_.OptionsOf(index);
    options.request_deadline = deadline;
    Worker worker{.client = *plane_.TryConnect(options, plane_.connector()), .gradients = nullptr};
    worker.gradients = std::make_unique<ParameterBuffer>(*worker.client->AllocateParameters());
    while (worker.client->one_sided_pushes() == 0) {
      EXPECT_EQ(worker.client->Push(*worker.gradients, Step(1)), absl::OkStatus());
    }
    Fill(*worker.gradients, -1);
    return worker;
  }
  // Starts a push of the worker on a thread of its own and returns once as many gets as it may have
  // are held in the middle.
  std::future<absl::Status> PushUntilHeld(Worker& worker) {
    gets_->Hold(ps::PushFetches::kPlacesOfOne);
    auto push = std::async(std::launch::async,
                           [&worker] { return worker.client->Push(*worker.gradients, Step(2)); });
    EXPECT_TRUE(gets_->Await(ps::PushFetches::kPlacesOfOne));
    return push;
  }
  // What every element of a tensor is, whole.
  float ValueOf(DataClient& client, std::size_t tensor) {
    auto weights = client.AllocateParameters();
    EXPECT_EQ(client.Pull(*weights), absl::OkStatus());
    const std::span<float> values = weights->tensor(tensor);
    EXPECT_EQ(std::ranges::count(values, values[0]), std::ssize(values)) << "half applied";
    return values[0];
  }
  void ExpectAll(DataClient& client, float value) {
    for (std::size_t t = 0; t <= kBlocks; ++t) EXPECT_EQ(ValueOf(client, t), value) << t;
  }

  const std::shared_ptr<HeldGets> gets_ = std::make_shared<HeldGets>();
  DataPlane plane_;
};

TEST_F(PushInMidGetTest, OthersAreServedMeanwhileAndThePushIsAppliedOnce) {
  Within(absl::Seconds(60), [this] {
    Worker a = Start(kA);
    Worker b = Start(kB);
    auto push = PushUntilHeld(a);
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(b.client->Push(*b.gradients, Step(2)), absl::OkStatus());
    }
    EXPECT_EQ(ValueOf(*b.client, 1), 20);
    EXPECT_EQ(gets_->held(), ps::PushFetches::kPlacesOfOne);
    gets_->LetGo();
    EXPECT_EQ(push.get(), absl::OkStatus());
    ExpectAll(*b.client, 21);
  });
}

// The client repeats what is not answered after 2 s.
TEST_F(PushInMidGetTest, ARepetitionIsNotReadASecondTime) {
  Within(absl::Seconds(60), [this] {
    Worker a = Start(kA);
    const std::uint64_t before = a.client->one_sided_pushes();
    auto push = PushUntilHeld(a);
    Worker b = Start(kB);
    while (a.client->one_sided_pushes() < before + 2 * kBlocks) {
      EXPECT_EQ(b.client->Pull(*b.gradients), absl::OkStatus());
    }
    EXPECT_EQ(gets_->held(), ps::PushFetches::kPlacesOfOne);
    gets_->LetGo();
    EXPECT_EQ(push.get(), absl::OkStatus());
    ExpectAll(*b.client, 1);
  });
}

// Its blocks that were held are lost with it, and those that waited for them; and so often that it
// would be noticed if a landing block were.
TEST_F(PushInMidGetTest, OfAWorkerThatDiesNothingThatWasUnderWayIsApplied) {
  Within(absl::Seconds(120), [this] {
    Worker b = Start(kB);
    for (int death = 1; death <= 5; ++death) {
      Worker a = Start(kA);
      auto push = PushUntilHeld(a);
      a.client->Abort(absl::UnavailableError("killed"));
      EXPECT_FALSE(push.get().ok());
      a.gradients.reset();
      a.client.reset();  // the shard notices, and disconnects
      plane_.Join(kA);
      EXPECT_EQ(ValueOf(*b.client, 1), 0) << "that was in the middle";
      EXPECT_EQ(ValueOf(*b.client, kBlocks), 0) << "that waited";
    }
    Worker a = Start(kA);
    EXPECT_EQ(a.client->Push(*a.gradients, Step(2)), absl::OkStatus());
    EXPECT_EQ(b.client->Push(*b.gradients, Step(2)), absl::OkStatus());
    EXPECT_EQ(ValueOf(*b.client, 1), 2);
    EXPECT_EQ(ValueOf(*b.client, kBlocks), 2);
  });
}

// What arrives from memory of somebody who is no longer in the view comes too late.
TEST_F(PushInMidGetTest, OfAWorkerThatIsFencedMeanwhileNothingIsApplied) {
  Within(absl::Seconds(60), [this] {
    Worker a = Start(kA);
    Worker b = Start(kB);
    auto push = PushUntilHeld(a);
    plane_.Leave(kA);
    EXPECT_EQ(ValueOf(*b.client, 1), 0);  // the shard has taken that view: it is asked by message
    gets_->LetGo();
    EXPECT_EQ(push.get().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ValueOf(*b.client, 1), 0);
    EXPECT_EQ(ValueOf(*b.client, kBlocks), 0);
  });
}

// The gradients are in quarantine: the shard may read them yet, although their owner has destroyed
// them, and then they must be as they were.
TEST_F(PushInMidGetTest, APushThatTimedOutIsReadFromMemoryThatIsKept) {
  Within(absl::Seconds(60), [this] {
    Worker a = Start(kA, absl::Milliseconds(300));
    Worker b = Start(kB);
    auto push = PushUntilHeld(a);
    EXPECT_EQ(push.get().code(), absl::StatusCode::kDeadlineExceeded);
    const std::weak_ptr<net::Memory> memory = a.gradients->memory();
    a.gradients.reset();
    EXPECT_FALSE(memory.expired());
    // Others, pushed in vain after that, do not take its place.
    const auto more = a.client->AllocateParameters();
    EXPECT_FALSE(a.client->Push(*more, Step(3)).ok());
    EXPECT_FALSE(memory.expired());
    gets_->LetGo();
    while (ValueOf(*b.client, 1) == 0) {
    }
    EXPECT_EQ(ValueOf(*b.client, 1), 1);
    a.client.reset();
    EXPECT_TRUE(memory.expired());
    EXPECT_EQ(b.client->Push(*b.gradients, Step(2)), absl::OkStatus());
    EXPECT_EQ(ValueOf(*b.client, 1), 2);
  });
}

TEST_F(PushInMidGetTest, AWorkerThatGaveUpAndLeftTakesNobodyWithIt) {
  Within(absl::Seconds(60), [this] {
    Worker a = Start(kA, absl::Milliseconds(300));
    Worker b = Start(kB);
    auto push = PushUntilHeld(a);
    EXPECT_EQ(push.get().code(), absl::StatusCode::kDeadlineExceeded);
    a.gradients.reset();
    a.client.reset();
    gets_->LetGo();
    EXPECT_EQ(b.client->Push(*b.gradients, Step(2)), absl::OkStatus());
    EXPECT_EQ(ValueOf(*b.client, 1), 1);
    EXPECT_EQ(ValueOf(*b.client, kBlocks), 1);
  });
}

TEST_F(PushInMidGetTest, AServerStopsWhileItReads) {
  Within(absl::Seconds(60), [this] {
    Worker a = Start(kA, absl::Seconds(2));
    auto push = PushUntilHeld(a);
    plane_.Destroy(0);
    EXPECT_EQ(push.get().code(), absl::StatusCode::kUnavailable);
  });
}

}  // namespace
}  // namespace weir::testing
