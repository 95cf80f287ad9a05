#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/membership/session.h"
#include "runtime/role_setup.h"
#include "worker/client/data_client.h"

namespace weir {

/// A worker's place in a job, for whoever trains with it: WorkerRole, or a program that uses
/// weir::Client. It joins the chief, waits until training may start, connects to the shards, and
/// hears of views and of the job's end, which ends what the data client waits for.
///
/// Threads: one thread at a time, but for Wake, MustEnd and Report. What the chief says comes on
/// the session's own thread.
class WorkerMember final : private SessionListener {
 public:
  /// `interrupted`, where given, is polled while this waits: true ends the wait.
  WorkerMember(RoleSetup setup, bool (*interrupted)());
  /// Without Leave, the chief takes it for a death.
  ~WorkerMember() override;

  /// Once, first. Errors: as Session::Join.
  absl::Status Join();
  /// Waits until training may start and connects to every shard. Once, after Join; the client is
  /// this object's, until Disconnect. Errors: the job's end, with its exit code; kCancelled (exit
  /// 0) where interrupted; what
  ///   DataClient::Connect returns.
  absl::StatusOr<DataClient*> Connect();
  void Disconnect();

  /// After Join. What does not fit the bounded outbox is dropped: it is full only while the chief
  /// is frozen, and then the lease ends this member.
  void Report(wire::MemberBodyUnion body);
  /// After each acknowledged push. Reports how messages reach the shards after the first push, with
  /// which UCX has wired them up, and after the 2nd, 4th, 8th ... where that is not what was
  /// reported last: a shard may say later that it cannot get at gradients where they lie.
  void OnPush();
  /// This worker takes no more steps.
  void ReportFinished(wire::FinishedT finished);

  /// The chief has ended the job, or is lost, or this worker was interrupted.
  bool MustEnd();
  /// What the chief wants next of a worker that has finished; one of the two.
  struct Next {
    std::optional<wire::EvaluateT> evaluate;
    std::optional<RoleEnd> end;
  };
  Next WaitForNext();
  /// The chief's word on why this worker's work failed: it names the cause, where an operation that
  /// failed names only whom it met. Where a peer was lost, the word comes within a lease.
  RoleEnd CauseOf(const absl::Status& failure);
  /// What an interrupted worker leaves with.
  RoleEnd Interrupted() const;

  /// Says goodbye. Waits for the chief to have it, two seconds at most. Also after a failed Join.
  void Leave(const RoleEnd& end);

  /// Makes a wait look at `interrupted`. Any thread.
  void Wake();
  const Task& task() const { return setup_.task; }

 private:
  struct Inbox {
    std::optional<wire::ViewT> view;  // the newest
    std::deque<wire::EvaluateT> evaluations;
    std::optional<RoleEnd> end;
  };

  /// How many shards each ps has: what a program of its own cannot know before it has joined.
  absl::Status TakeThreads(const wire::JoinReplyT& welcome);
  /// The job's end, or the interrupt, with its exit code; OK while there is none.
  absl::Status Ending() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<wire::ViewT> WaitUntilReady();
  absl::StatusOr<std::unique_ptr<DataClient>> ConnectToShards(const wire::ViewT& view);
  bool interrupted() const { return interrupted_ != nullptr && interrupted_(); }

  void OnView(const wire::ViewT& view) override;
  void OnCommand(const wire::ChiefMessageT& message) override;
  void OnEnd(int exit_code, const std::string& reason) override;
  void OnLost(const absl::Status& why) override;
  void SetEnd(RoleEnd end);
  void ReportPaths();

  RoleSetup setup_;
  std::optional<Layout> layout_;  // in place of the setup's, where the ps have several threads
  bool (*const interrupted_)();
  Incarnation incarnation_;
  std::vector<std::pair<std::uint32_t, std::string>> reported_paths_;  // by index of the ps
  std::unique_ptr<Session> session_;
  std::uint64_t pushes_ = 0;  // acknowledged
  Mutex mutex_;
  CondVar changed_;
  Inbox inbox_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<DataClient> client_
      ABSL_GUARDED_BY(mutex_);  // set and reset by the owner's thread
};

}  // namespace weir
