#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "chief/checkpoint_store.h"
#include "chief/logic/chief.h"
#include "chief/logic/chief_options.h"
#include "chief/member_session.h"
#include "chief/training_log.h"
#include "common/base/bounded_queue.h"
#include "common/base/mutex.h"
#include "common/rpc/server.h"

namespace weir::chief {

/// How the chief's process is to end, and what there is to tell.
struct Result {
  int exit_code = 0;
  std::string reason;
  Summary summary;
};

/// The chief as a process runs it: one thread owns the logic; the server's threads hand it what
/// members send; a second thread commits checkpoints and a third writes the training log, so that
/// leases are renewed while a disk is slow; each member's stream has a thread that writes.
/// Give it to rpc::Server::Create, and shut that server down before destroying it. Methods may be
/// called by any thread.
class Service final : public rpc::ChiefHandler, private ChiefOutput {
 public:
  /// `metrics_path` is MODEL_DIR/metrics.jsonl; `store` outlives the service. The start deadline
  /// counts from here. Errors: exit code 2 for options without a ps or a worker, and for a path
  /// that cannot be written.
  static absl::StatusOr<std::unique_ptr<Service>> Create(ChiefOptions options,
                                                         const std::string& metrics_path,
                                                         CheckpointStore& store);
  /// Cancels the sessions that are left and waits for their handlers.
  ~Service() override;

  /// SIGTERM or SIGINT: a checkpoint within the grace, then the end. Returns at once; not for
  /// signal handlers.
  void RequestStop(const std::string& reason);
  /// Waits for the job's end and the last line of the log. The service keeps answering joins until
  /// it is destroyed.
  Result Wait();
  /// Like Wait, but for at most `timeout`: what a live progress line polls between GetStatus.
  std::optional<Result> WaitFor(absl::Duration timeout);

  absl::StatusOr<wire::JoinReplyT> Join(const wire::JoinRequestT& request) override;
  absl::Status Session(rpc::MemberStream& stream) override;
  absl::StatusOr<wire::StatusReplyT> GetStatus() override;

 private:
  using Action = std::function<void(absl::Time)>;
  struct Event {
    absl::Time arrived;
    Action action;
  };

  Service(ChiefOptions options, TrainingLog log, CheckpointStore& store);

  // False once the service is shutting down. Waits while the queue is full; never called by the
  // chief thread.
  bool Post(Action action);
  template <typename Reply>
  absl::StatusOr<Reply> Ask(std::function<Reply(absl::Time)> question);
  absl::Status RunSession(const std::shared_ptr<MemberSession>& session, rpc::MemberStream& stream);

  // The chief thread.
  void RunChief();
  bool HandleNextEvent();
  void NoticeStop(absl::Time now);
  void RunDeferred(absl::Time now);
  void Tick();
  void ExpectFirstMessage(const std::shared_ptr<MemberSession>& session, absl::Time now);
  void OpenSession(SessionId session, const wire::MemberMessageT& first, absl::Time now);
  void EndSession(SessionId session, absl::Time now);
  void PublishResult(absl::Time now);

  // ChiefOutput, on the chief thread.
  void Send(SessionId to, wire::ChiefMessageT message) override;
  void CloseSession(SessionId session, absl::string_view why) override;
  void CommitCheckpoint(CheckpointRecord record) override;
  void MarkFinal(const std::string& folder) override;
  void AppendMetrics(const std::string& json_line) override;
  void Log(LogLevel level, absl::string_view text) override;
  void Finish(int exit_code, const std::string& reason) override;

  // The committing thread.
  void CommitNow(const CheckpointRecord& record);

  // The logging thread.
  void WriteLine(const std::string& json_line);
  void SyncLog();

  const absl::Duration lease_;
  const int keep_checkpoint_max_;
  CheckpointStore& store_;
  TrainingLog log_;
  std::atomic<std::uint64_t> next_session_{1};  // only numbers: publishes nothing

  // Of the chief thread alone.
  Chief chief_;
  std::map<SessionId, std::shared_ptr<MemberSession>> sessions_;
  std::map<SessionId, absl::Time> first_message_by_;  // streams that have not said who they are
  std::vector<Action> deferred_;                      // what the logic may not be told in a call
  std::optional<Result> ending_;
  absl::Time last_now_ = absl::InfinitePast();
  absl::Time last_look_ = absl::InfinitePast();
  bool lines_dropped_ = false;

  Mutex mutex_;
  CondVar changed_;
  std::optional<Result> result_ ABSL_GUARDED_BY(mutex_);
  int handlers_ ABSL_GUARDED_BY(mutex_) = 0;  // Session calls that are running

  BoundedQueue<Event> events_;
  using Tasks = BoundedQueue<std::function<void()>>;
  Tasks commits_;
  Tasks log_tasks_;
  bool log_failed_ = false;  // of the logging thread
  std::thread commit_thread_;
  std::thread log_thread_;
  std::thread chief_thread_;
};

}  // namespace weir::chief
