#include "chief/service.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/model/protocol.h"
#include "weir/exit_code.h"

namespace weir::chief {
namespace {

// Every member's messages of some seconds; when it is full, streams are read more slowly.
constexpr std::size_t kEventCapacity = 4096;
// One commit or mark is under way at most.
constexpr std::size_t kCommitCapacity = 16;
// Lines that wait for a slow disk; beyond, they are dropped.
constexpr std::size_t kLogCapacity = 4096;
// For a chief thread that only ever does short work; longer means that the machine is stuck.
constexpr absl::Duration kAnswerLimit = absl::Seconds(10);

std::uint64_t OwnPeakRssBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

absl::Status Check(const ChiefOptions& options) {
  if (!options.ps.empty() && !options.workers.empty()) return absl::OkStatus();
  return WithExitCode(
      absl::InvalidArgumentError("a cluster needs at least one ps and one worker: list them"),
      ExitCode::kBadUsage);
}

void RunTasks(BoundedQueue<std::function<void()>>& tasks) {
  while (auto task = tasks.Pop()) (*task)();
}

absl::Status ShuttingDown() { return absl::UnavailableError("the chief is shutting down"); }

}  // namespace

absl::StatusOr<std::unique_ptr<Service>> Service::Create(ChiefOptions options,
                                                         const std::string& metrics_path,
                                                         CheckpointStore& store) {
  WEIR_RETURN_IF_ERROR(Check(options));
  WEIR_ASSIGN_OR_RETURN(TrainingLog log, TrainingLog::Open(metrics_path));
  options.protocol = kProtocolVersion;
  return std::unique_ptr<Service>(new Service(std::move(options), std::move(log), store));
}

Service::Service(ChiefOptions options, TrainingLog log, CheckpointStore& store)
    : lease_(options.lease),
      keep_checkpoint_max_(options.keep_checkpoint_max),
      store_(store),
      log_(std::move(log)),
      chief_(std::move(options), *this),
      events_(kEventCapacity),
      commits_(kCommitCapacity),
      log_tasks_(kLogCapacity) {
  commit_thread_ = std::thread([this] { RunTasks(commits_); });
  log_thread_ = std::thread([this] { RunTasks(log_tasks_); });
  chief_thread_ = std::thread([this] { RunChief(); });
}

Service::~Service() {
  events_.Close();
  chief_thread_.join();
  // Nobody else touches the sessions any more: handlers that are left return once cancelled.
  for (auto& [id, session] : sessions_) session->Abort("the chief is shutting down");
  commits_.Close();
  commit_thread_.join();
  log_tasks_.Close();
  log_thread_.join();
  MutexLock lock(&mutex_);
  while (handlers_ > 0) changed_.Wait(&mutex_);
}

void Service::RequestStop(const std::string& reason) {
  Post([this, reason](absl::Time now) { chief_.OnStopRequested(reason, now); });
}

Result Service::Wait() { return *WaitFor(absl::InfiniteDuration()); }

std::optional<Result> Service::WaitFor(absl::Duration timeout) {
  const absl::Time by = MonotonicNow() + timeout;
  MutexLock lock(&mutex_);
  while (!result_.has_value()) {
    const absl::Duration left = by - MonotonicNow();
    if (left <= absl::ZeroDuration()) return std::nullopt;
    changed_.WaitFor(&mutex_, left);
  }
  return result_;
}

bool Service::Post(Action action) { return events_.Push({MonotonicNow(), std::move(action)}); }

// --- what the server's threads call

template <typename Reply>
absl::StatusOr<Reply> Service::Ask(std::function<Reply(absl::Time)> question) {
  // Shared: the answer may come after the asker gave up.
  struct Answer {
    Mutex mutex;
    CondVar given;
    std::optional<Reply> reply ABSL_GUARDED_BY(mutex);
  };
  auto answer = std::make_shared<Answer>();
  const bool posted = Post([answer, question = std::move(question)](absl::Time now) {
    Reply reply = question(now);
    MutexLock lock(&answer->mutex);
    answer->reply = std::move(reply);
    answer->given.NotifyAll();
  });
  if (!posted) return ShuttingDown();
  const absl::Time by = MonotonicNow() + kAnswerLimit;
  MutexLock lock(&answer->mutex);
  while (!answer->reply.has_value()) {
    const absl::Duration left = by - MonotonicNow();
    if (left <= absl::ZeroDuration()) {
      return absl::UnavailableError("the chief did not get round to an answer; ask again");
    }
    answer->given.WaitFor(&answer->mutex, left);
  }
  return std::move(*answer->reply);
}

absl::StatusOr<wire::JoinReplyT> Service::Join(const wire::JoinRequestT& request) {
  return Ask<wire::JoinReplyT>(
      [this, request](absl::Time now) { return chief_.OnJoin(request, now); });
}

absl::StatusOr<wire::StatusReplyT> Service::GetStatus() {
  return Ask<wire::StatusReplyT>([this](absl::Time now) { return chief_.OnStatusAsked(now); });
}

absl::Status Service::Session(rpc::MemberStream& stream) {
  {
    MutexLock lock(&mutex_);
    ++handlers_;
  }
  auto session = std::make_shared<MemberSession>(SessionId(next_session_.fetch_add(1)), stream);
  absl::Status status = RunSession(session, stream);
  session->Detach();
  MutexLock lock(&mutex_);
  --handlers_;
  changed_.NotifyAll();
  return status;
}

absl::Status Service::RunSession(const std::shared_ptr<MemberSession>& session,
                                 rpc::MemberStream& stream) {
  const SessionId id = session->id();
  if (!Post([this, session](absl::Time now) { ExpectFirstMessage(session, now); })) {
    return ShuttingDown();
  }
  std::thread writer([&] { session->WriteQueued(stream); });
  wire::MemberMessageT message;
  bool opened = false;
  while (stream.Read(&message)) {
    // A goodbye is the last word; returning then ends the stream for the member too.
    const bool last = message.body.type == wire::MemberBody::Goodbye;
    const bool posted = opened ? Post([this, id, message = std::move(message)](absl::Time now) {
      chief_.OnMessage(id, message, now);
    })
                               : Post([this, id, message = std::move(message)](absl::Time now) {
                                   OpenSession(id, message, now);
                                 });
    opened = true;
    message = wire::MemberMessageT();
    if (last || !posted) break;
  }
  Post([this, id](absl::Time now) { EndSession(id, now); });
  session->CloseOutbox();
  writer.join();
  return session->outcome();
}

// --- the chief thread

void Service::RunChief() {
  last_now_ = last_look_ = MonotonicNow();
  chief_.Start(last_now_);
  while (HandleNextEvent()) {
  }
}

bool Service::HandleNextEvent() {
  absl::Time deadline = chief_.next_deadline();
  for (const auto& [session, by] : first_message_by_) deadline = std::min(deadline, by);
  const absl::Duration left = std::min(deadline - MonotonicNow(), lease_ / 4);
  auto event = left > absl::ZeroDuration() ? events_.PopFor(left) : events_.TryPop();
  NoticeStop(MonotonicNow());
  if (event.has_value()) {
    // Time is when it arrived: while this thread was held up, nobody's lease ran out because
    // another member's message was handled before its own.
    last_now_ = std::max(last_now_, event->arrived);
    event->action(last_now_);
  } else if (events_.closed()) {
    return false;
  } else if (MonotonicNow() >= deadline) {
    Tick();
  }
  RunDeferred(last_now_);
  PublishResult(last_now_);
  return true;
}

// This thread looks at least four times a lease. After a longer pause it may be the first to run
// again: the threads that read what members sent meanwhile get time to do so.
void Service::NoticeStop(absl::Time now) {
  if (now - std::exchange(last_look_, now) <= lease_ / 2) return;
  chief_.OnHeldUp(now);
  for (auto& [session, by] : first_message_by_) by = std::max(by, now + lease_ / 2);
}

void Service::Tick() {
  last_now_ = std::max(last_now_, MonotonicNow());
  for (auto entry = first_message_by_.begin(); entry != first_message_by_.end();) {
    if (entry->second > last_now_) {
      ++entry;
      continue;
    }
    CloseSession(entry->first, "it did not say who it is");
    entry = first_message_by_.erase(entry);
  }
  chief_.OnTick(last_now_);
}

void Service::RunDeferred(absl::Time now) {
  while (!deferred_.empty()) {
    const std::vector<Action> actions = std::exchange(deferred_, {});
    for (const Action& action : actions) action(now);
  }
}

void Service::ExpectFirstMessage(const std::shared_ptr<MemberSession>& session, absl::Time now) {
  sessions_[session->id()] = session;
  first_message_by_[session->id()] = now + lease_;
}

void Service::OpenSession(SessionId session, const wire::MemberMessageT& first, absl::Time now) {
  // Absent when it was late: its stream has been cancelled.
  if (first_message_by_.erase(session) > 0) chief_.OnSessionOpened(session, first, now);
}

void Service::EndSession(SessionId session, absl::Time now) {
  first_message_by_.erase(session);
  sessions_.erase(session);
  chief_.OnSessionClosed(session, "its process ended", now);
}

void Service::PublishResult(absl::Time now) {
  if (!ending_.has_value()) return;
  ending_->summary = chief_.BuildSummary(now);
  ending_->summary.members.front().peak_rss_bytes = OwnPeakRssBytes();
  auto publish = [this, result = *std::exchange(ending_, std::nullopt)] {
    MutexLock lock(&mutex_);
    result_ = result;
    changed_.NotifyAll();
  };
  // After the last line; at once where the disk is too slow for the log.
  if (!log_tasks_.TryPush(publish)) publish();
}

void Service::Send(SessionId to, wire::ChiefMessageT message) {
  const auto found = sessions_.find(to);
  if (found == sessions_.end() || found->second->Enqueue(std::move(message))) return;
  deferred_.push_back([this, to](absl::Time now) {
    chief_.OnSessionClosed(to, "it does not read what it is sent", now);
  });
}

void Service::CloseSession(SessionId session, absl::string_view why) {
  const auto found = sessions_.find(session);
  if (found != sessions_.end()) found->second->Abort(std::string(why));
}

void Service::CommitCheckpoint(CheckpointRecord record) {
  auto commit = [this, record = std::move(record)] { CommitNow(record); };
  if (commits_.TryPush(std::move(commit))) return;
  deferred_.push_back([this](absl::Time now) {
    chief_.OnCheckpointCommitted(absl::ResourceExhaustedError("too many commits are waiting"), now);
  });
}

void Service::MarkFinal(const std::string& folder) {
  auto mark = [this, folder] {
    const absl::Status status = store_.MarkFinal(folder);
    Post([this, status](absl::Time now) { chief_.OnCheckpointMarkedFinal(status, now); });
  };
  if (commits_.TryPush(std::move(mark))) return;
  deferred_.push_back([this](absl::Time now) {
    chief_.OnCheckpointMarkedFinal(absl::ResourceExhaustedError("too many commits are waiting"),
                                   now);
  });
}

void Service::AppendMetrics(const std::string& json_line) {
  if (log_tasks_.TryPush([this, json_line] { WriteLine(json_line); })) return;
  if (!std::exchange(lines_dropped_, true)) {
    LogError("the training log stays incomplete: its disk is too slow");
  }
}

void Service::Log(LogLevel level, absl::string_view text) {
  if (level >= least_log_level()) weir::Log(level, text);
}

void Service::Finish(int exit_code, const std::string& reason) {
  ending_ = Result{exit_code, reason, {}};
}

// --- the committing thread

void Service::CommitNow(const CheckpointRecord& record) {
  const absl::Status status = store_.Commit(record);
  if (status.ok() && keep_checkpoint_max_ > 0) {
    if (const absl::Status pruned = store_.Prune(keep_checkpoint_max_); !pruned.ok()) {
      LogWarning("older checkpoints were not removed: ", pruned.message());
    }
  }
  log_tasks_.TryPush([this] { SyncLog(); });
  Post([this, status](absl::Time now) { chief_.OnCheckpointCommitted(status, now); });
}

// --- the logging thread

void Service::WriteLine(const std::string& json_line) {
  const absl::Status status = log_.Append(json_line);
  if (!status.ok() && !std::exchange(log_failed_, true)) {
    LogError("the training log stays incomplete: ", status.message());
  }
}

void Service::SyncLog() {
  if (const absl::Status synced = log_.Sync(); !synced.ok()) LogWarning(synced.message());
}

}  // namespace weir::chief
