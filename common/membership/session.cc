#include "common/membership/session.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/bounded_queue.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/membership/join.h"
#include "common/membership/lease_watch.h"
#include "common/rpc/client.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

constexpr std::size_t kOutboxCapacity = 1024;
// When full, the reader waits: gRPC's flow control then holds the chief back.
constexpr std::size_t kInboxCapacity = 1024;

std::uint64_t PeakRssBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

/// Three threads: the reader takes messages off the stream, whatever the listener does, so that a
/// slow callback costs no lease; the writer may block in Write for as long as a chief is frozen;
/// the session's own thread calls the listener and watches the lease. The stream's end frees the
/// first two, and closing the inbox the third.
class SessionImpl final : public Session {
 public:
  SessionImpl(std::unique_ptr<rpc::ChiefClient> chief, const SessionOptions& options,
              wire::JoinReplyT welcome)
      : chief_(std::move(chief)),
        address_(options.chief_address),
        role_(options.join.role),
        index_(options.join.index),
        incarnation_(options.join.incarnation),
        welcome_(std::move(welcome)),
        lease_(absl::Milliseconds(welcome_.lease_ms)) {
    keeper_ = std::thread([this, join = options.join] { KeepPlace(join); });
  }

  ~SessionImpl() override {
    StopKeepingPlace();
    Stop(std::nullopt, absl::ZeroDuration());
  }

  const wire::JoinReplyT& welcome() const override { return welcome_; }

  absl::Status Start(SessionListener* listener) override {
    if (stream_ != nullptr) return absl::FailedPreconditionError("the session was started before");
    listener_ = listener;
    StopKeepingPlace();
    stream_ = chief_->OpenSession();
    last_heard_.store(ToNanos(MonotonicNow()), std::memory_order_relaxed);
    reader_ = std::thread([this] { ReadLoop(); });
    writer_ = std::thread([this] { WriteLoop(); });
    caller_ = std::thread([this] { CallLoop(); });
    return absl::OkStatus();
  }

  bool Send(wire::MemberBodyUnion body) override {
    return outbox_.TryPush(Message(std::move(body)));
  }

  void SetProgress(std::uint64_t step, std::uint32_t view) override {
    step_.store(step, std::memory_order_relaxed);
    view_.store(view, std::memory_order_relaxed);
  }

  void Leave(int exit_code, const std::string& reason, absl::Duration timeout) override {
    wire::GoodbyeT goodbye;
    goodbye.exit_code = exit_code;
    goodbye.reason = reason;
    goodbye.peak_rss_bytes = PeakRssBytes();
    StopKeepingPlace();
    Stop(std::move(goodbye), timeout);
  }

 private:
  static std::int64_t ToNanos(absl::Time time) { return absl::ToUnixNanos(time); }

  wire::MemberMessageT Message(wire::MemberBodyUnion body) const {
    wire::MemberMessageT message;
    message.role = role_;
    message.index = index_;
    message.incarnation = incarnation_;
    message.rdma = welcome_.rdma;
    message.body = std::move(body);
    return message;
  }

  bool Write(wire::MemberBodyUnion body) { return stream_->Write(Message(std::move(body))); }

  bool WriteHeartbeat() {
    wire::HeartbeatT heartbeat;
    heartbeat.step = step_.load(std::memory_order_relaxed);
    heartbeat.view = view_.load(std::memory_order_relaxed);
    wire::MemberBodyUnion body;
    body.Set(std::move(heartbeat));
    return Write(std::move(body));
  }

  // Whatever the answer is, the stream tells it better.
  void KeepPlace(const wire::JoinRequestT& join) {
    while (!PlaceTaken(lease_ / 3)) (void)chief_->Join(join, lease_ / 3);
  }

  /// Waits up to `timeout` for Start, or the end.
  bool PlaceTaken(absl::Duration timeout) {
    const absl::Time until = MonotonicNow() + timeout;
    MutexLock lock(&mutex_);
    while (!place_taken_) {
      const absl::Duration left = until - MonotonicNow();
      if (left <= absl::ZeroDuration()) return false;
      place_changed_.WaitFor(&mutex_, left);
    }
    return true;
  }

  void StopKeepingPlace() {
    {
      MutexLock lock(&mutex_);
      place_taken_ = true;
      place_changed_.NotifyAll();
    }
    if (keeper_.joinable()) keeper_.join();
  }

  void ReadLoop() {
    wire::ChiefMessageT message;
    while (stream_->Read(&message)) {
      last_heard_.store(ToNanos(MonotonicNow()), std::memory_order_relaxed);
      if (message.body.type == wire::ChiefBody::Lease) continue;
      inbox_.Push(std::move(message));  // dropped once the listener wants no more
    }
    absl::Status status = stream_->Finish();
    {
      MutexLock lock(&mutex_);
      stream_status_ = std::move(status);
      stream_over_ = true;
      stream_ended_.NotifyAll();
    }
    outbox_.Close();
    inbox_.Close();
  }

  void WriteLoop() {
    const absl::Duration interval = std::min(absl::Seconds(1), lease_ / 5);
    absl::Time next = MonotonicNow();
    for (;;) {
      const absl::Time now = MonotonicNow();
      if (now >= next) {
        if (!WriteHeartbeat()) return;
        next = now + interval;
        continue;
      }
      auto message = outbox_.PopFor(next - now);
      // Closed first, then empty: nothing can have come in between.
      const bool last = !message.has_value() && outbox_.closed();
      if (last) message = outbox_.TryPop();
      if (message.has_value()) {
        if (!stream_->Write(*message)) return;
      } else if (last) {
        break;
      }
    }
    WriteGoodbye();
  }

  void WriteGoodbye() {
    std::optional<wire::GoodbyeT> goodbye;
    {
      MutexLock lock(&mutex_);
      goodbye = goodbye_;
    }
    if (!goodbye.has_value()) return;  // the stream ended, or was abandoned
    wire::MemberBodyUnion body;
    body.Set(*std::move(goodbye));
    if (Write(std::move(body))) stream_->WritesDone();
  }

  void CallLoop() {
    LeaseWatch watch(lease_, MonotonicNow());
    const absl::Duration tick =
        std::clamp(lease_ / 20, absl::Milliseconds(5), absl::Milliseconds(100));
    while (!leaving_.load(std::memory_order_acquire)) {
      auto message = inbox_.PopFor(tick);
      const bool last = !message.has_value() && inbox_.closed();
      if (last) message = inbox_.TryPop();
      if (leaving_.load(std::memory_order_acquire)) break;
      if (message.has_value()) {
        if (Deliver(*message)) break;
      } else if (last) {
        listener_->OnLost(StreamEnded());
        break;
      }
      const absl::Time now = MonotonicNow();
      const absl::Time heard = absl::FromUnixNanos(last_heard_.load(std::memory_order_relaxed));
      if (watch.Lapsed(now, heard)) {
        stream_->Cancel();
        listener_->OnLost(Silent(now - heard));
        break;
      }
    }
    inbox_.Close();
  }

  /// True after the End.
  bool Deliver(const wire::ChiefMessageT& message) {
    if (const auto* end = message.body.AsEnd()) {
      listener_->OnEnd(end->exit_code, end->reason);
      return true;
    }
    if (const auto* changed = message.body.AsViewChanged()) {
      listener_->OnView(*changed->view);
    } else if (message.body.type != wire::ChiefBody::NONE) {
      listener_->OnCommand(message);
    }
    return false;
  }

  absl::Status Silent(absl::Duration silence) const {
    return WithExitCode(absl::UnavailableError(absl::StrCat(
                            "the chief at ", address_, " has not answered for ",
                            absl::FormatDuration(absl::Trunc(silence, absl::Milliseconds(100))))),
                        ExitCode::kPeerLost);
  }

  absl::Status StreamEnded() {
    MutexLock lock(&mutex_);
    const std::string reason = stream_status_.ok()
                                   ? absl::StrCat("chief at ", address_, ": it ended the session")
                                   : std::string(stream_status_.message());
    return WithExitCode(absl::UnavailableError(absl::StrCat("lost the ", reason)),
                        ExitCode::kPeerLost);
  }

  /// Ends the session, with a Goodbye or without. The second call finds nothing to do.
  void Stop(std::optional<wire::GoodbyeT> goodbye, absl::Duration timeout) {
    MutexLock stopping(&stop_mutex_);
    if (stream_ == nullptr || stopped_) return;
    stopped_ = true;
    const bool abandon = !goodbye.has_value();
    {
      MutexLock lock(&mutex_);
      goodbye_ = std::move(goodbye);
    }
    leaving_.store(true, std::memory_order_release);
    if (abandon) stream_->Cancel();
    inbox_.Close();
    outbox_.Close();
    AwaitStreamEnd(timeout);
    // Without effect on a stream that has ended; otherwise it frees the reader and the writer.
    stream_->Cancel();
    for (std::thread* thread : {&reader_, &writer_, &caller_}) thread->join();
  }

  void AwaitStreamEnd(absl::Duration timeout) {
    const absl::Time deadline = MonotonicNow() + timeout;
    MutexLock lock(&mutex_);
    while (!stream_over_) {
      const absl::Duration left = deadline - MonotonicNow();
      if (left <= absl::ZeroDuration()) return;
      stream_ended_.WaitFor(&mutex_, left);
    }
  }

  const std::unique_ptr<rpc::ChiefClient> chief_;
  const std::string address_;
  const wire::Role role_;
  const std::uint32_t index_;
  const std::uint64_t incarnation_;
  const wire::JoinReplyT welcome_;
  const absl::Duration lease_;

  SessionListener* listener_ = nullptr;  // borrowed; set before the threads start
  std::unique_ptr<rpc::ChiefStream> stream_;
  BoundedQueue<wire::MemberMessageT> outbox_{kOutboxCapacity};
  BoundedQueue<wire::ChiefMessageT> inbox_{kInboxCapacity};

  std::atomic<std::uint64_t> step_{0};  // these two publish themselves only
  std::atomic<std::uint32_t> view_{0};
  std::atomic<std::int64_t> last_heard_{0};  // monotonic, nanoseconds; publishes itself only
  std::atomic<bool> leaving_{false};         // set before the inbox closes: no callback starts

  Mutex mutex_;
  CondVar stream_ended_;
  CondVar place_changed_;
  bool place_taken_ ABSL_GUARDED_BY(mutex_) = false;
  bool stream_over_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status stream_status_ ABSL_GUARDED_BY(mutex_);
  std::optional<wire::GoodbyeT> goodbye_ ABSL_GUARDED_BY(mutex_);

  Mutex stop_mutex_;  // held while stopping: a second Leave returns after the first
  bool stopped_ ABSL_GUARDED_BY(stop_mutex_) = false;
  std::thread keeper_, reader_, writer_, caller_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Join(const SessionOptions& options,
                                                       bool (*interrupted)()) {
  auto chief = rpc::ChiefClient::Create({.address = options.chief_address,
                                         .peer = "chief",
                                         .token = options.token,
                                         .tls = options.tls});
  WEIR_ASSIGN_OR_RETURN(wire::JoinReplyT welcome, AskToJoin(*chief, options, interrupted));
  return std::make_unique<SessionImpl>(std::move(chief), options, std::move(welcome));
}

}  // namespace weir
