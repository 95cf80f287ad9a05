// The control plane whole: the chief's service behind the real gRPC server, and sessions that stand
// in for the roles. No weights and no UCX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "chief/service.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/unique_fd.h"
#include "common/membership/session.h"
#include "common/model/protocol.h"
#include "common/rpc/client.h"
#include "common/rpc/server.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr std::uint64_t kMaxSteps = 10;

/// A loopback port that was free a moment ago: members must know the chief's before it runs.
int FreePort() {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd.get(), raw, length) != 0 || getsockname(fd.get(), raw, &length) != 0) return 0;
  return ntohs(address.sin_port);
}

class MemoryStore final : public chief::CheckpointStore {
 public:
  absl::Status Commit(const chief::CheckpointRecord& record) override {
    MutexLock lock(&mutex_);
    committed_.push_back(record.folder + (record.is_final ? " final" : ""));
    return absl::OkStatus();
  }
  absl::Status MarkFinal(const std::string&) override { return absl::OkStatus(); }
  absl::Status Prune(int) override { return absl::OkStatus(); }
  std::vector<std::string> committed() {
    MutexLock lock(&mutex_);
    return committed_;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> committed_ ABSL_GUARDED_BY(mutex_);
};

template <typename Body>
wire::MemberBodyUnion BodyOf(Body body) {
  wire::MemberBodyUnion result;
  result.Set(std::move(body));
  return result;
}

wire::JoinRequestT RequestOf(wire::Role role, std::uint32_t index) {
  wire::JoinRequestT request;
  request.protocol = kProtocolVersion;
  request.role = role;
  request.index = index;
  request.incarnation = 100 + index;
  request.address = absl::StrCat("host:", index);
  request.job = "job";
  return request;
}

/// Answers what the chief asks as a role would that has nothing to do.
class Member final : public SessionListener {
 public:
  Member(wire::Role role, std::uint32_t index) : role_(role), index_(index) {}

  absl::Status Enter(const std::string& chief) {
    auto session = Session::Join({.chief_address = chief,
                                  .token = "secret",
                                  .join = RequestOf(role_, index_),
                                  .start_deadline = kPatience});
    if (!session.ok()) return session.status();
    session_ = *std::move(session);
    return session_->Start(this);
  }
  template <typename Body>
  void Say(Body body) {
    EXPECT_TRUE(session_->Send(BodyOf(std::move(body))));
  }
  void Finish() {
    wire::FinishedT finished;
    finished.steps = kMaxSteps / 2;
    Say(std::move(finished));
  }
  void Leave() { session_->Leave(exit_code(), "done", kPatience); }
  /// As a process that was killed.
  void Drop() { session_.reset(); }

  bool AwaitReady() {
    return Await([this] { return ready_; });
  }
  bool AwaitStop() {
    return Await([this] { return stopped_; });
  }
  bool AwaitEnd() {
    return Await([this] { return exit_code_ >= 0; });
  }
  int exit_code() {
    MutexLock lock(&mutex_);
    return exit_code_;
  }
  std::string reason() {
    MutexLock lock(&mutex_);
    return reason_;
  }

 private:
  bool Await(const std::function<bool()>& condition) {
    const absl::Time give_up = MonotonicNow() + kPatience;
    MutexLock lock(&mutex_);
    while (!condition()) {
      const absl::Duration left = give_up - MonotonicNow();
      if (left <= absl::ZeroDuration()) return false;
      changed_.WaitFor(&mutex_, left);
    }
    return true;
  }
  void Change(const std::function<void()>& change) {
    MutexLock lock(&mutex_);
    change();
    changed_.NotifyAll();
  }

  void OnView(const wire::ViewT& view) override {
    Change([&] { ready_ = view.ready; });
  }
  void OnCommand(const wire::ChiefMessageT& message) override {
    if (const auto* take = message.body.AsTakeCheckpoint()) {
      wire::CheckpointDoneT done;
      done.id = take->id;
      done.ok = true;
      done.file = absl::StrCat("shard-", index_, "-of-2.safetensors");
      Say(std::move(done));
    } else if (message.body.AsSendStats() != nullptr) {
      wire::StatsT answer;
      answer.stats = std::make_unique<wire::ShardStatsT>();
      answer.stats->completed = {kMaxSteps / 2, kMaxSteps / 2};
      Say(std::move(answer));
    } else if (const auto* saved = message.body.AsCheckpointSaved()) {
      wire::EvaluationDoneT done;
      done.step = saved->step;
      done.accuracy = 0.75F;
      Say(std::move(done));
    } else if (message.body.AsStopTraining() != nullptr) {
      Change([&] { stopped_ = true; });
    }
  }
  void OnEnd(int exit_code, const std::string& reason) override {
    Change([&] {
      exit_code_ = exit_code;
      reason_ = reason;
    });
  }
  void OnLost(const absl::Status& why) override {
    OnEnd(static_cast<int>(ExitCodeOf(why)), std::string(why.message()));
  }

  const wire::Role role_;
  const std::uint32_t index_;
  std::unique_ptr<Session> session_;
  Mutex mutex_;
  CondVar changed_;
  bool ready_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  int exit_code_ ABSL_GUARDED_BY(mutex_) = -1;
  std::string reason_ ABSL_GUARDED_BY(mutex_);
};

class ControlPlaneTest : public ::testing::Test {
 protected:
  ControlPlaneTest() : address_(absl::StrCat("127.0.0.1:", FreePort())) {
    folder_ = testing::TempDir() + "/weir_control_plane";
    std::filesystem::create_directories(folder_);
    options_.ps = {0, 1};
    options_.workers = {0, 1};
    options_.address = address_;
    options_.job = "job";
    options_.max_steps = Step(kMaxSteps);
    options_.end_linger = kPatience;
    options_.lease = absl::Seconds(2);
  }
  ~ControlPlaneTest() override { StopChief(); }

  void StartChief() {
    auto service = chief::Service::Create(options_, folder_ + "/metrics.jsonl", store_);
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
    auto server = rpc::Server::Create(
        {.who = "chief", .address = address_, .loopback_only = true, .token = "secret"},
        service_.get(), nullptr);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void StopChief() {
    if (server_) server_->Shutdown(absl::Seconds(1));
    server_.reset();
    service_.reset();
  }
  void EnterAll() {
    for (Member* member : trainers_) ASSERT_TRUE(member->Enter(address_).ok());
    for (Member* member : trainers_) ASSERT_TRUE(member->AwaitReady());
  }
  void ExpectEnd(const std::vector<Member*>& members, int exit_code, const std::string& reason) {
    for (Member* member : members) {
      ASSERT_TRUE(member->AwaitEnd());
      EXPECT_EQ(member->exit_code(), exit_code) << member->reason();
      EXPECT_THAT(member->reason(), HasSubstr(reason));
      member->Leave();
    }
  }
  chief::Result WaitForChief() {
    const auto result = service_->WaitFor(kPatience);
    EXPECT_TRUE(result.has_value());
    return result.value_or(chief::Result{});
  }

  const std::string address_;
  std::string folder_;
  chief::ChiefOptions options_;
  MemoryStore store_;
  std::unique_ptr<chief::Service> service_;
  std::unique_ptr<rpc::Server> server_;
  Member ps0_{wire::Role::Ps, 0}, ps1_{wire::Role::Ps, 1};
  Member worker0_{wire::Role::Worker, 0}, worker1_{wire::Role::Worker, 1};
  Member evaluator_{wire::Role::Evaluator, 0};
  const std::vector<Member*> trainers_{&ps0_, &ps1_, &worker0_, &worker1_};
};

TEST_F(ControlPlaneTest, AJobToItsEndWithTheChiefStartedLast) {
  options_.evaluators = {0};
  std::vector<std::thread> starting;
  for (Member* member : {&evaluator_, &worker1_, &ps0_, &worker0_, &ps1_}) {
    starting.emplace_back([this, member] { EXPECT_TRUE(member->Enter(address_).ok()); });
  }
  StartChief();
  for (std::thread& thread : starting) thread.join();
  for (Member* member : trainers_) ASSERT_TRUE(member->AwaitReady());
  wire::StepReachedT reached;
  reached.step = kMaxSteps;
  ps0_.Say(std::move(reached));
  worker0_.Finish();
  worker1_.Finish();
  ExpectEnd({&worker0_, &worker1_, &evaluator_, &ps0_, &ps1_}, 0, "max_steps 10 reached");
  const chief::Result result = WaitForChief();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(store_.committed(), testing::ElementsAre("step-00000010 final"));
  EXPECT_FLOAT_EQ(result.summary.test_accuracy.value_or(0), 0.75F);
  EXPECT_EQ(result.summary.pushes.acknowledged, kMaxSteps);
}

TEST_F(ControlPlaneTest, APsWhoseProcessEndsEndsTheJobForAll) {
  StartChief();
  EnterAll();
  ps1_.Drop();
  ExpectEnd({&ps0_, &worker0_, &worker1_}, 4, "ps 1 (host:1) was lost");
  EXPECT_EQ(WaitForChief().exit_code, 4);
  const absl::Status late = ps1_.Enter(address_);
  EXPECT_EQ(ExitCodeOf(late), ExitCode::kPeerLost) << late;
  EXPECT_THAT(std::string(late.message()), HasSubstr("ps 1 (host:1) was lost"));
}

TEST_F(ControlPlaneTest, AFrozenPsLosesItsLease) {
  StartChief();
  for (Member* member : {&ps0_, &worker0_, &worker1_}) ASSERT_TRUE(member->Enter(address_).ok());
  const auto client =
      rpc::ChiefClient::Create({.address = address_, .peer = "chief", .token = "secret"});
  const auto welcome = client->Join(RequestOf(wire::Role::Ps, 1), kPatience);
  ASSERT_TRUE(welcome.ok()) << welcome.status();
  const auto frozen = client->OpenSession();
  wire::MemberMessageT first;
  first.role = wire::Role::Ps;
  first.index = 1;
  first.incarnation = 101;
  first.rdma = welcome->rdma;
  first.body = BodyOf(wire::HeartbeatT());
  ASSERT_TRUE(frozen->Write(first));
  ExpectEnd({&ps0_, &worker0_, &worker1_}, 4, "ps 1 (host:1) was lost: it was silent");
  EXPECT_EQ(WaitForChief().exit_code, 4);
  frozen->Cancel();
}

TEST_F(ControlPlaneTest, AChiefThatGoesIsLost) {
  StartChief();
  EnterAll();
  StopChief();
  // Its server cancels one stream after the other, and the service, which lives a moment longer,
  // may still tell the last ones that the first are lost.
  ExpectEnd(trainers_, 4, "lost");
}

TEST_F(ControlPlaneTest, AStopSavesAndEndsInOrder) {
  StartChief();
  EnterAll();
  service_->RequestStop("SIGTERM");
  for (Member* member : trainers_) ASSERT_TRUE(member->AwaitStop());
  worker1_.Finish();
  worker0_.Finish();
  ExpectEnd(trainers_, 0, "");
  EXPECT_EQ(WaitForChief().exit_code, 0);
  EXPECT_EQ(store_.committed().size(), 1U);
}

TEST_F(ControlPlaneTest, AWrongTokenIsRefusedAtOnce) {
  StartChief();
  const absl::Status refused = Session::Join({.chief_address = address_,
                                              .token = "guess",
                                              .join = RequestOf(wire::Role::Ps, 0),
                                              .start_deadline = kPatience})
                                   .status();
  EXPECT_EQ(ExitCodeOf(refused), ExitCode::kBadUsage) << refused;
}

}  // namespace
}  // namespace weir
