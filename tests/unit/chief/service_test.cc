#include "chief/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/bounded_queue.h"
#include "common/base/clock.h"
#include "common/model/protocol.h"

namespace weir::chief {
namespace {

using ::testing::HasSubstr;
using wire::ChiefBody;

constexpr absl::Duration kPatience = absl::Seconds(20);

/// A stream in memory, whose other side is a test.
class FakeStream final : public rpc::MemberStream {
 public:
  explicit FakeStream(std::size_t window) : to_chief_(64), to_member_(window) {}
  bool Read(wire::MemberMessageT* message) override {
    auto next = to_chief_.Pop();
    if (!next.has_value() || cancelled_) return false;
    *message = std::move(*next);
    return true;
  }
  bool Write(const wire::ChiefMessageT& message) override { return to_member_.Push(message); }
  void Cancel() override {
    cancelled_ = true;
    to_chief_.Close();
    to_member_.Close();
  }
  std::string peer() const override { return "test"; }

  bool Say(wire::MemberMessageT message) { return to_chief_.Push(std::move(message)); }
  std::optional<wire::ChiefMessageT> Hear(absl::Duration timeout) {
    return to_member_.PopFor(timeout);
  }
  bool ended() const { return to_member_.closed(); }
  /// The member's process is gone.
  void Break() { Cancel(); }

 private:
  BoundedQueue<wire::MemberMessageT> to_chief_;
  BoundedQueue<wire::ChiefMessageT> to_member_;
  std::atomic<bool> cancelled_{false};
};

class FakeStore final : public CheckpointStore {
 public:
  absl::Status Commit(const CheckpointRecord& record) override {
    MutexLock lock(&mutex_);
    calls_.push_back("commit " + record.folder + (record.is_final ? " final" : ""));
    return absl::OkStatus();
  }
  absl::Status MarkFinal(const std::string& folder) override {
    MutexLock lock(&mutex_);
    calls_.push_back("mark " + folder);
    return absl::OkStatus();
  }
  absl::Status Prune(int keep) override {
    MutexLock lock(&mutex_);
    calls_.push_back("prune " + std::to_string(keep));
    return absl::OkStatus();
  }
  std::vector<std::string> calls() {
    MutexLock lock(&mutex_);
    return calls_;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
};

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    folder_ = std::filesystem::path(testing::TempDir()) / "weir_chief_service";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    options_.ps = {0};
    options_.workers = {0};
    options_.address = "host:1";
    options_.job = "job";
    options_.max_steps = Step(10);
    options_.end_linger = absl::Seconds(10);
    options_.lease = absl::Seconds(10);
  }

  void Create() {
    auto service = Service::Create(options_, folder_ + "/metrics.jsonl", store_);
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }

  wire::JoinRequestT Request(wire::Role role, std::uint64_t incarnation) {
    wire::JoinRequestT request;
    request.protocol = kProtocolVersion;
    request.role = role;
    request.incarnation = incarnation;
    request.address = "host:2";
    request.job = "job";
    return request;
  }

  std::string folder_;
  ChiefOptions options_;
  FakeStore store_;
  std::unique_ptr<Service> service_;
};

/// One member with its handler's thread, as the gRPC server would run it.
class FakeMember {
 public:
  FakeMember(Service& service, wire::Role role, std::size_t window = 64)
      : stream_(window), role_(role), handler_([this, &service] {
          outcome_ = service.Session(stream_);
          // A handler that returned ends the stream for the member.
          stream_.Cancel();
        }) {}
  ~FakeMember() {
    stream_.Break();
    if (handler_.joinable()) handler_.join();
  }

  template <typename Message>
  void Say(Message message) {
    wire::MemberMessageT envelope;
    envelope.role = role_;
    envelope.incarnation = 5;
    envelope.rdma = wire::RdmaUse::Unused;
    envelope.body.Set(std::move(message));
    stream_.Say(std::move(envelope));
  }

  /// The next message of that kind; others are passed over, but SendStats is answered. Null when
  /// none comes in time.
  std::optional<wire::ChiefMessageT> HearNext(ChiefBody kind) {
    const absl::Time by = MonotonicNow() + kPatience;
    while (MonotonicNow() < by) {
      auto message = stream_.Hear(by - MonotonicNow());
      if (message.has_value() && message->body.type == ChiefBody::SendStats) AnswerStats();
      if (message.has_value() && message->body.type == kind) return message;
      if (!message.has_value() && stream_.ended()) return std::nullopt;
    }
    return std::nullopt;
  }
  /// Until a view that is ready.
  bool HearReady() {
    while (auto message = HearNext(ChiefBody::ViewChanged)) {
      if (message->body.AsViewChanged()->view->ready) return true;
    }
    return false;
  }
  absl::Status WaitForHandler() {
    handler_.join();
    return outcome_;
  }
  FakeStream& stream() { return stream_; }

 private:
  void AnswerStats() {
    wire::StatsT answer;
    answer.stats = std::make_unique<wire::ShardStatsT>();
    answer.stats->completed = {10};
    Say(std::move(answer));
  }

  FakeStream stream_;
  const wire::Role role_;
  absl::Status outcome_;
  std::thread handler_;
};

template <typename Message>
Message Make(std::function<void(Message&)> fill) {
  Message message;
  fill(message);
  return message;
}

TEST_F(ServiceTest, RunsAJobToItsEnd) {
  Create();
  ASSERT_EQ(service_->Join(Request(wire::Role::Ps, 5))->outcome, wire::JoinOutcome::Accepted);
  ASSERT_EQ(service_->Join(Request(wire::Role::Worker, 5))->outcome, wire::JoinOutcome::Accepted);
  FakeMember ps(*service_, wire::Role::Ps);
  FakeMember worker(*service_, wire::Role::Worker);
  ps.Say(wire::HeartbeatT());
  worker.Say(wire::HeartbeatT());
  ASSERT_TRUE(worker.HearReady());
  EXPECT_EQ(service_->GetStatus()->phase, "training");

  worker.Say(Make<wire::TrainingLineT>([](auto& line) {
    line.step = 10;
    line.loss = 0.5F;
  }));
  ps.Say(Make<wire::StepReachedT>([](auto& reached) { reached.step = 10; }));
  worker.Say(Make<wire::FinishedT>([](auto& finished) {
    finished.steps = 10;
    finished.final_loss = 0.5F;
  }));
  auto take = ps.HearNext(ChiefBody::TakeCheckpoint);
  if (!take.has_value()) FAIL() << "no checkpoint was asked for";
  ps.Say(Make<wire::CheckpointDoneT>([&](auto& done) {
    done.id = take->body.AsTakeCheckpoint()->id;
    done.ok = true;
    done.file = "shard-0-of-1.safetensors";
  }));
  ASSERT_TRUE(worker.HearNext(ChiefBody::Evaluate).has_value());
  worker.Say(Make<wire::EvaluationDoneT>([](auto& done) {
    done.step = 10;
    done.accuracy = 0.5F;
  }));
  for (FakeMember* member : {&ps, &worker}) {
    const auto end = member->HearNext(ChiefBody::End);
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->body.AsEnd()->exit_code, 0);
    member->Say(wire::GoodbyeT());
    EXPECT_TRUE(member->WaitForHandler().ok());
  }
  const std::optional<Result> result = service_->WaitFor(kPatience);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(result->summary.global_step, 10u);
  EXPECT_EQ(result->summary.members[0].exit_code, 0);
  EXPECT_GT(*result->summary.members[0].peak_rss_bytes, 0u);
  EXPECT_THAT(store_.calls(), testing::ElementsAre("commit step-00000010 final", "prune 5"));
  EXPECT_EQ(service_->Join(Request(wire::Role::Worker, 6))->outcome, wire::JoinOutcome::Ended);
  std::ifstream metrics(folder_ + "/metrics.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(metrics, line));
  EXPECT_THAT(line, HasSubstr("\"step\":10,\"loss\":0.5"));
}

TEST_F(ServiceTest, APsThatDiesEndsTheJob) {
  Create();
  (void)service_->Join(Request(wire::Role::Ps, 5));
  (void)service_->Join(Request(wire::Role::Worker, 5));
  FakeMember ps(*service_, wire::Role::Ps);
  FakeMember worker(*service_, wire::Role::Worker);
  ps.Say(wire::HeartbeatT());
  worker.Say(wire::HeartbeatT());
  ASSERT_TRUE(worker.HearReady());
  ps.stream().Break();
  const auto end = worker.HearNext(ChiefBody::End);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->body.AsEnd()->exit_code, 4);
  EXPECT_THAT(end->body.AsEnd()->reason, HasSubstr("ps 0 (host:2) was lost: its process ended"));
  const std::optional<Result> result = service_->WaitFor(kPatience);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->exit_code, 4);
}

TEST_F(ServiceTest, AFrozenMemberHoldsUpNobody) {
  options_.lease = absl::Milliseconds(300);
  Create();
  (void)service_->Join(Request(wire::Role::Ps, 5));
  (void)service_->Join(Request(wire::Role::Worker, 5));
  FakeMember ps(*service_, wire::Role::Ps);
  // It reads nothing, and its stream takes one message.
  FakeMember worker(*service_, wire::Role::Worker, 1);
  worker.Say(wire::HeartbeatT());
  ps.Say(wire::HeartbeatT());
  ASSERT_TRUE(ps.HearReady());
  std::atomic<bool> done{false};
  std::thread heart([&] {
    while (!done) {
      ps.Say(wire::HeartbeatT());
      if (!ps.HearNext(ChiefBody::Lease).has_value()) return;
    }
  });
  EXPECT_EQ(worker.WaitForHandler().code(), absl::StatusCode::kAborted);
  done = true;
  heart.join();
  ASSERT_EQ(service_->GetStatus()->members.size(), 3u);  // the chief, the worker, the ps
  EXPECT_EQ(service_->GetStatus()->members[1]->member->state, "lost");
}

TEST_F(ServiceTest, AStreamThatSaysNothingIsCancelledAfterALease) {
  options_.lease = absl::Milliseconds(100);
  Create();
  FakeMember silent(*service_, wire::Role::Ps);
  EXPECT_EQ(silent.WaitForHandler().code(), absl::StatusCode::kAborted);
}

TEST_F(ServiceTest, AStopEndsItCleanly) {
  Create();
  (void)service_->Join(Request(wire::Role::Ps, 5));
  FakeMember ps(*service_, wire::Role::Ps);
  ps.Say(wire::HeartbeatT());
  ASSERT_TRUE(ps.HearNext(ChiefBody::ViewChanged).has_value());
  service_->RequestStop("SIGTERM");
  ASSERT_TRUE(ps.HearNext(ChiefBody::End).has_value());
  ps.Say(wire::GoodbyeT());
  const std::optional<Result> result = service_->WaitFor(kPatience);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_THAT(result->reason, HasSubstr("SIGTERM"));
}

TEST_F(ServiceTest, DestructionEndsOpenSessions) {
  Create();
  (void)service_->Join(Request(wire::Role::Ps, 5));
  FakeMember ps(*service_, wire::Role::Ps);
  ps.Say(wire::HeartbeatT());
  ASSERT_TRUE(ps.HearNext(ChiefBody::ViewChanged).has_value());
  service_.reset();
  EXPECT_EQ(ps.WaitForHandler().code(), absl::StatusCode::kAborted);
}

TEST_F(ServiceTest, ManyMembersTalkAtOnce) {
  options_.workers.clear();
  for (std::uint32_t i = 0; i < 16; ++i) options_.workers.insert(i);
  options_.max_steps = Step(1'000'000);
  Create();
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 16; ++i) {
    threads.emplace_back([this, i] {
      for (std::uint64_t n = 1; n <= 50; ++n) {
        wire::JoinRequestT request = Request(wire::Role::Worker, n);
        request.index = i;
        ASSERT_TRUE(service_->Join(request).ok());
        ASSERT_TRUE(service_->GetStatus().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(service_->GetStatus()->members.size(), 17u);  // the chief too
}

TEST(ServiceOptionsTest, AClusterWithoutPsIsBadUsage) {
  FakeStore store;
  ChiefOptions options;
  options.workers = {0};
  EXPECT_FALSE(Service::Create(options, "/dev/null", store).ok());
}

}  // namespace
}  // namespace weir::chief
