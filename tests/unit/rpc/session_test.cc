#include "common/membership/session.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "absl/time/clock.h"
#include "common/base/unique_fd.h"
#include "tests/unit/rpc/fake_chief.h"
#include "weir/exit_code.h"

extern char** environ;

namespace weir {
namespace {

using rpc::BodyOf;
using rpc::FakeChief;
using rpc::FromChief;
using rpc::Serve;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RecordingListener : public SessionListener {
 public:
  void OnView(const wire::ViewT& view) override { Add(absl::StrCat("view ", view.number)); }
  void OnCommand(const wire::ChiefMessageT& message) override {
    Add(absl::StrCat("command ", wire::EnumNameChiefBody(message.body.type)));
  }
  void OnEnd(int exit_code, const std::string& reason) override {
    Add(absl::StrCat("end ", exit_code, " ", reason));
  }
  void OnLost(const absl::Status& why) override {
    EXPECT_EQ(why.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(ExitCodeOf(why), ExitCode::kPeerLost);
    Add(absl::StrCat("lost ", why.message()));
  }

  /// Waits for `count` calls in all; what they were.
  std::vector<std::string> Await(std::size_t count) {
    const absl::Time deadline = MonotonicNow() + absl::Seconds(10);
    MutexLock lock(&mutex_);
    while (calls_.size() < count && MonotonicNow() < deadline)
      changed_.WaitFor(&mutex_, deadline - MonotonicNow());
    return calls_;
  }
  std::size_t count() {
    MutexLock lock(&mutex_);
    return calls_.size();
  }

 private:
  void Add(std::string call) {
    EXPECT_FALSE(busy_.exchange(true)) << "two callbacks at once";
    {
      MutexLock lock(&mutex_);
      calls_.push_back(std::move(call));
      changed_.NotifyAll();
    }
    busy_ = false;
  }

  std::atomic<bool> busy_{false};
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
};

SessionOptions OptionsFor(const std::string& address) {
  SessionOptions options;
  options.chief_address = address;
  options.join.role = wire::Role::Worker;
  options.join.index = 5;
  options.join.incarnation = 77;
  options.start_deadline = absl::Seconds(20);
  return options;
}

std::unique_ptr<Session> JoinAndStart(const std::string& address, SessionListener* listener) {
  auto session = Session::Join(OptionsFor(address));
  EXPECT_TRUE(session.ok()) << session.status();
  if (!session.ok()) return nullptr;
  EXPECT_TRUE((*session)->Start(listener).ok());
  return *std::move(session);
}

wire::MemberBodyUnion Line(std::uint64_t step) {
  wire::TrainingLineT line;
  line.step = step;
  return BodyOf<wire::MemberBodyUnion>(line);
}

TEST(Session, CarriesMessagesBothWays) {
  FakeChief chief;
  wire::ViewChangedT changed;
  changed.view = std::make_unique<wire::ViewT>();
  changed.view->number = 9;
  chief.first_words.push_back(FromChief(std::move(changed)));
  chief.first_words.push_back(FromChief(wire::TakeCheckpointT()));
  chief.first_words.push_back(FromChief(wire::SendStatsT()));
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  RecordingListener listener;
  const auto session = JoinAndStart(AddressOf(*server), &listener);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->welcome().lease_ms, 5000u);
  EXPECT_EQ(listener.Await(3),
            (std::vector<std::string>{"view 9", "command TakeCheckpoint", "command SendStats"}));
  session->SetProgress(12, 9);
  for (std::uint64_t step = 1; step <= 100; ++step) EXPECT_TRUE(session->Send(Line(step)));
  EXPECT_TRUE(chief.Await([](const auto& heard, int) {
    return heard.back().body.AsHeartbeat() != nullptr &&
           heard.back().body.AsHeartbeat()->step == 12;
  }));
  session->Leave(0, "done", absl::Seconds(10));
  EXPECT_TRUE(chief.AwaitOpen(0));
  std::uint64_t lines = 0;
  for (const auto& message : chief.heard()) {
    EXPECT_EQ(message.role, wire::Role::Worker);
    EXPECT_EQ(message.index, 5u);
    EXPECT_EQ(message.incarnation, 77u);
    if (const auto* line = message.body.AsTrainingLine()) {
      EXPECT_EQ(line->step, ++lines);
    }
  }
  EXPECT_EQ(lines, 100u);
  EXPECT_FALSE(session->Send(Line(1)));
  EXPECT_EQ(listener.count(), 3u);
}

TEST(Session, TheGoodbyeComesLastAndWhole) {
  FakeChief chief;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  RecordingListener listener;
  const auto session = JoinAndStart(AddressOf(*server), &listener);
  ASSERT_NE(session, nullptr);
  for (std::uint64_t step = 1; step <= 500; ++step) session->Send(Line(step));
  session->Leave(3, "no data", absl::Seconds(10));
  const auto heard = chief.heard();
  const auto* goodbye = heard.back().body.AsGoodbye();
  ASSERT_NE(goodbye, nullptr);
  EXPECT_EQ(goodbye->exit_code, 3);
  EXPECT_EQ(goodbye->reason, "no data");
  EXPECT_GT(goodbye->peak_rss_bytes, 1000000u);
  ASSERT_GE(heard.size(), 502u);  // with the heartbeats
  session->Leave(0, "again", absl::Seconds(10));
  EXPECT_EQ(listener.count(), 0u);
}

TEST(Session, EndIsTheLastCallThoughTheChiefGoesAway) {
  FakeChief chief;
  wire::EndT end;
  end.exit_code = 0;
  end.reason = "max steps";
  chief.first_words.push_back(FromChief(std::move(end)));
  chief.first_words.push_back(FromChief(wire::SendStatsT()));
  auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  RecordingListener listener;
  const auto session = JoinAndStart(AddressOf(*server), &listener);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(listener.Await(1).front(), "end 0 max steps");
  server->Shutdown(absl::ZeroDuration());
  session->Leave(0, "end", absl::Seconds(10));
  EXPECT_EQ(listener.count(), 1u);
}

TEST(Session, AStreamThatEndsIsALoss) {
  FakeChief chief;
  chief.manner = FakeChief::Manner::kWalksAway;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  RecordingListener listener;
  const auto session = JoinAndStart(AddressOf(*server), &listener);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(listener.Await(1).front(),
            absl::StrCat("lost lost the chief at ", AddressOf(*server), ": the chief walks away"));
  session->Leave(4, "lost", absl::Seconds(10));
  EXPECT_EQ(listener.count(), 1u);
}

/// The time from `start` until the listener hears of the loss, which is over a lease.
void ExpectLostWithin(RecordingListener& listener, absl::Time start, absl::Duration lease,
                      const std::string& address) {
  const auto calls = listener.Await(1);
  const absl::Duration took = MonotonicNow() - start;
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_THAT(calls.front(),
              HasSubstr(absl::StrCat("the chief at ", address, " has not answered for ")));
  EXPECT_LT(took, lease + absl::Seconds(2));  // on a busy machine; else about 0.1 s
}

TEST(Session, AChiefThatNeitherReadsNorWritesIsLostWithinTheLease) {
  FakeChief chief;
  chief.manner = FakeChief::Manner::kSilent;
  chief.lease_ms = 1000;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  RecordingListener listener;
  const auto session = JoinAndStart(AddressOf(*server), &listener);
  ASSERT_NE(session, nullptr);
  const absl::Time start = MonotonicNow();
  // Until Write blocks on flow control and the outbox is full.
  wire::FinishedT large;
  large.reason = std::string(64 << 10, 'x');
  while (session->Send(BodyOf<wire::MemberBodyUnion>(large))) {
  }
  ExpectLostWithin(listener, start, absl::Seconds(1), AddressOf(*server));
  const absl::Time leaving = MonotonicNow();
  session->Leave(4, "lost", absl::Seconds(30));
  EXPECT_LT(MonotonicNow() - leaving, absl::Seconds(5));
  EXPECT_FALSE(session->Send(Line(1)));
  chief.Release();
}

TEST(Session, AChiefThatReadsButDoesNotAnswerIsLostToo) {
  FakeChief chief;
  chief.manner = FakeChief::Manner::kDeaf;
  chief.lease_ms = 500;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  RecordingListener listener;
  const absl::Time start = MonotonicNow();
  const auto session = JoinAndStart(AddressOf(*server), &listener);
  ASSERT_NE(session, nullptr);
  ExpectLostWithin(listener, start, absl::Milliseconds(500), AddressOf(*server));
}

TEST(Session, HeartbeatsKeepAShortLease) {
  FakeChief chief;
  chief.lease_ms = 1500;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  RecordingListener listener;
  const auto session = JoinAndStart(AddressOf(*server), &listener);
  ASSERT_NE(session, nullptr);
  // A heartbeat each fifth of a lease: ten of them outlast it.
  EXPECT_TRUE(chief.Await([](const auto& heard, int) { return heard.size() >= 10; }));
  EXPECT_EQ(listener.count(), 0u);
}

TEST(Session, LeaveGivesUpOnAChiefThatKeepsTheStream) {
  FakeChief chief;
  chief.manner = FakeChief::Manner::kNeverEnds;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  RecordingListener listener;
  const auto session = JoinAndStart(AddressOf(*server), &listener);
  ASSERT_NE(session, nullptr);
  const absl::Time start = MonotonicNow();
  session->Leave(0, "done", absl::Milliseconds(300));
  EXPECT_GE(MonotonicNow() - start, absl::Milliseconds(290));
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(5));
  EXPECT_EQ(listener.count(), 0u);
  chief.Release();
}

TEST(Session, DroppingItEndsTheStreamWithoutAGoodbye) {
  FakeChief chief;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  RecordingListener listener;
  auto session = JoinAndStart(AddressOf(*server), &listener);
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(chief.Await([](const auto& heard, int open) { return open == 1 && !heard.empty(); }));
  session.reset();
  EXPECT_TRUE(chief.AwaitOpen(0));
  for (const auto& message : chief.heard()) EXPECT_EQ(message.body.AsGoodbye(), nullptr);
  EXPECT_EQ(listener.count(), 0u);
}

TEST(Join, WaitsForAChiefThatStartsLater) {
  FakeChief chief;
  auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  const std::string address = AddressOf(*server);
  const int port = server->port();
  server.reset();
  absl::StatusOr<std::unique_ptr<Session>> session = absl::UnknownError("");
  static std::atomic<int> polls;
  polls = 0;
  std::thread joiner([&] {
    session = Session::Join(OptionsFor(address), [] {
      ++polls;
      return false;
    });
  });
  while (polls < 5) std::this_thread::yield();  // it has failed at least once
  server = Serve(&chief, nullptr, "", port);
  const absl::Time start = MonotonicNow();
  joiner.join();
  ASSERT_NE(server, nullptr);
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(4));  // gRPC backs off for a second at most
  EXPECT_TRUE(session.ok()) << session.status();
}

TEST(Join, GivesUpAtTheStartDeadline) {
  FakeChief chief;
  auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  const std::string address = AddressOf(*server);
  server.reset();
  SessionOptions options = OptionsFor(address);
  options.start_deadline = absl::Milliseconds(700);
  const absl::Time start = MonotonicNow();
  const absl::Status status = Session::Join(options).status();
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(5));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kPeerLost);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(address), HasSubstr("connection"), HasSubstr("700ms")));
}

TEST(Join, StopsWhenInterrupted) {
  FakeChief chief;
  auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  const std::string address = AddressOf(*server);
  server.reset();
  static std::atomic<int> polls;
  polls = 0;
  const absl::Status status =
      Session::Join(OptionsFor(address), [] { return ++polls > 3; }).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

struct OutcomeCase {
  wire::JoinOutcome outcome;
  absl::StatusCode code;
  ExitCode exit_code;
  int said_exit_code = 0;
};

TEST(Join, EndsWithTheChiefsAnswer) {
  for (const OutcomeCase& expected :
       {OutcomeCase{wire::JoinOutcome::Refused, absl::StatusCode::kFailedPrecondition,
                    ExitCode::kBadUsage},
        OutcomeCase{wire::JoinOutcome::Ended, absl::StatusCode::kCancelled, ExitCode::kDone},
        OutcomeCase{wire::JoinOutcome::Ended, absl::StatusCode::kUnavailable, ExitCode::kPeerLost,
                    4},
        OutcomeCase{wire::JoinOutcome::Ended, absl::StatusCode::kUnavailable, ExitCode::kFailed,
                    256},
        OutcomeCase{static_cast<wire::JoinOutcome>(200), absl::StatusCode::kFailedPrecondition,
                    ExitCode::kBadUsage}}) {
    FakeChief chief;
    chief.outcome = expected.outcome;
    chief.reason = "other settings";
    chief.exit_code = expected.said_exit_code;
    const auto server = Serve(&chief);
    ASSERT_NE(server, nullptr);
    const absl::Status status = Session::Join(OptionsFor(AddressOf(*server))).status();
    EXPECT_EQ(status.code(), expected.code) << status;
    EXPECT_EQ(ExitCodeOf(status), expected.exit_code) << status;
    EXPECT_EQ(chief.joins().size(), 1u);
  }
}

TEST(Join, AsksAgainWhenToldNotYet) {
  FakeChief chief;
  chief.not_yet = 2;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  EXPECT_TRUE(Session::Join(OptionsFor(AddressOf(*server))).ok());
  EXPECT_EQ(chief.joins().size(), 3u);
}

TEST(Join, WhoMovesWeightsAsksAgainUntilRdmaIsDecided) {
  FakeChief chief;
  chief.undecided = 2;
  chief.Decide(wire::RdmaUse::Used);
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  const auto session = Session::Join(OptionsFor(AddressOf(*server)));
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->welcome().rdma, wire::RdmaUse::Used);
  EXPECT_EQ(chief.joins().size(), 3u);
}

TEST(Join, AnEvaluatorDoesNotWaitForThat) {
  FakeChief chief;
  chief.undecided = 1000;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  SessionOptions options = OptionsFor(AddressOf(*server));
  options.join.role = wire::Role::Evaluator;
  auto session = Session::Join(options);
  ASSERT_TRUE(session.ok()) << session.status();
  RecordingListener listener;
  EXPECT_TRUE((*session)->Start(&listener).ok());
}

TEST(Session, SaysWhatItWasToldOfRdma) {
  FakeChief chief;
  chief.Decide(wire::RdmaUse::Used);
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  auto session = Session::Join(OptionsFor(AddressOf(*server)));
  ASSERT_TRUE(session.ok()) << session.status();
  chief.Decide(wire::RdmaUse::Unused);  // as one that was started again may
  RecordingListener listener;
  ASSERT_TRUE((*session)->Start(&listener).ok());
  ASSERT_TRUE(chief.Await([](const auto& heard, int) { return !heard.empty(); }));
  EXPECT_EQ(chief.heard().front().rdma, wire::RdmaUse::Used);
}

TEST(Join, KeepsItsPlaceUntilTheStart) {
  FakeChief chief;
  chief.lease_ms = 300;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  auto session = Session::Join(OptionsFor(AddressOf(*server)));
  ASSERT_TRUE(session.ok()) << session.status();
  const absl::Time give_up = MonotonicNow() + absl::Seconds(10);
  while (chief.joins().size() < 4 && MonotonicNow() < give_up)
    absl::SleepFor(absl::Milliseconds(10));
  const auto joins = chief.joins();
  ASSERT_GE(joins.size(), 4u);
  EXPECT_EQ(joins.back().incarnation, joins.front().incarnation);
  RecordingListener listener;
  ASSERT_TRUE((*session)->Start(&listener).ok());
  const std::size_t asked = chief.joins().size();
  EXPECT_TRUE(chief.Await([](const auto& heard, int) { return heard.size() > 10; }));
  EXPECT_EQ(chief.joins().size(), asked) << "the session's heartbeats keep it now";
}

TEST(Join, AWrongTokenIsNotRetried) {
  FakeChief chief;
  const auto server = Serve(&chief, nullptr, "right");
  ASSERT_NE(server, nullptr);
  SessionOptions options = OptionsFor(AddressOf(*server));
  options.token = "wrong";
  const absl::Time start = MonotonicNow();
  const absl::Status status = Session::Join(options).status();
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(5));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
  EXPECT_THAT(std::string(status.message()), HasSubstr("token is wrong"));
}

/// A chief in a process of its own.
class StubChief {
 public:
  explicit StubChief(const char* lease_ms) {
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
    stdin_ = UniqueFd(in[1]);
    const UniqueFd child_in(in[0]), from(out[0]);
    UniqueFd child_out(out[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, child_in.get(), 0);
    posix_spawn_file_actions_adddup2(&actions, child_out.get(), 1);
    const char* arguments[] = {WEIR_STUB_CHIEF, lease_ms, nullptr};
    if (posix_spawn(&pid_, WEIR_STUB_CHIEF, &actions, nullptr, const_cast<char* const*>(arguments),
                    environ) != 0)
      pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    child_out.reset();
    char byte = 0;
    std::string text;
    while (read(from.get(), &byte, 1) == 1 && byte != '\n') text.push_back(byte);
    port_ = std::atoi(text.c_str());
  }
  ~StubChief() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  void Signal(int signal) const { kill(pid_, signal); }
  int port() const { return port_; }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  UniqueFd stdin_;
  pid_t pid_ = -1;
  int port_ = 0;
};

TEST(Session, AFrozenChiefIsLostWithinTheLease) {
  const StubChief chief("1000");
  ASSERT_GT(chief.port(), 0);
  RecordingListener listener;
  const auto session = JoinAndStart(chief.address(), &listener);
  ASSERT_NE(session, nullptr);
  chief.Signal(SIGSTOP);
  const absl::Time start = MonotonicNow();
  wire::FinishedT large;
  large.reason = std::string(64 << 10, 'x');
  while (session->Send(BodyOf<wire::MemberBodyUnion>(large))) {
  }
  ExpectLostWithin(listener, start, absl::Seconds(1), chief.address());
  const absl::Time leaving = MonotonicNow();
  session->Leave(4, "lost", absl::Seconds(30));
  EXPECT_LT(MonotonicNow() - leaving, absl::Seconds(5));
}

TEST(Session, LeaveDoesNotHangOnAFrozenChief) {
  const StubChief chief("60000");
  ASSERT_GT(chief.port(), 0);
  RecordingListener listener;
  const auto session = JoinAndStart(chief.address(), &listener);
  ASSERT_NE(session, nullptr);
  chief.Signal(SIGSTOP);
  wire::FinishedT large;
  large.reason = std::string(64 << 10, 'x');
  while (session->Send(BodyOf<wire::MemberBodyUnion>(large))) {
  }
  const absl::Time leaving = MonotonicNow();
  session->Leave(0, "done", absl::Milliseconds(300));
  EXPECT_LT(MonotonicNow() - leaving, absl::Seconds(5));
  EXPECT_EQ(listener.count(), 0u);
}

TEST(Session, LeaveEndsThoughALargeMessageIsStuckInTheFrozenChiefsSocket) {
  const StubChief chief("60000");
  ASSERT_GT(chief.port(), 0);
  RecordingListener listener;
  const auto session = JoinAndStart(chief.address(), &listener);
  ASSERT_NE(session, nullptr);
  wire::FinishedT large;
  large.reason = std::string(12 << 20, 'x');
  for (int i = 0; i < 30; ++i) session->Send(BodyOf<wire::MemberBodyUnion>(large));
  // Frozen at a random point of the transfer: the test must hold at each.
  const absl::Time midway = MonotonicNow() + absl::Milliseconds(20 + getpid() % 100);
  while (MonotonicNow() < midway) std::this_thread::yield();
  chief.Signal(SIGSTOP);
  const absl::Time leaving = MonotonicNow();
  session->Leave(0, "done", absl::Milliseconds(300));
  EXPECT_LT(MonotonicNow() - leaving, absl::Seconds(20));  // TCP's own limit, 5 s, and slack
}

TEST(Session, AKilledChiefIsLostAtOnce) {
  const StubChief chief("60000");
  ASSERT_GT(chief.port(), 0);
  RecordingListener listener;
  const auto session = JoinAndStart(chief.address(), &listener);
  ASSERT_NE(session, nullptr);
  const absl::Time start = MonotonicNow();
  chief.Signal(SIGKILL);
  const auto calls = listener.Await(1);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(5));
  EXPECT_THAT(calls.front(), HasSubstr(absl::StrCat("lost the chief at ", chief.address(),
                                                    ": the connection was ")));
}

TEST(Join, AFrozenChiefIsWaitedForUntilTheDeadline) {
  const StubChief chief("1000");
  ASSERT_GT(chief.port(), 0);
  chief.Signal(SIGSTOP);
  SessionOptions options = OptionsFor(chief.address());
  options.start_deadline = absl::Milliseconds(700);
  const absl::Time start = MonotonicNow();
  const absl::Status status = Session::Join(options).status();
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(5));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
}

}  // namespace
}  // namespace weir
