#include "tests/support/transport_node.h"

#include <future>

#include "common/base/clock.h"

namespace weir::testing {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(10);

std::vector<std::byte> Copy(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

TransportNode::TransportNode(std::unique_ptr<net::Transport> transport)
    : transport_(std::move(transport)), waker_(transport_.get()), thread_([this] { Loop(); }) {}

TransportNode::~TransportNode() { Stop(); }

void TransportNode::Run(const std::function<void(net::Transport&)>& task) {
  std::promise<void> done;
  {
    MutexLock lock(&mutex_);
    tasks_.emplace_back([&] {
      task(*transport_);
      done.set_value();
    });
    changed_.NotifyAll();
    waker_->Wake();
  }
  done.get_future().wait();
}

void TransportNode::Stop() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.NotifyAll();
    // Under the lock: the loop destroys the transport once it has seen the above.
    waker_->Wake();
  }
  thread_.join();
}

void TransportNode::Freeze(bool frozen) {
  Run([&](net::Transport&) {
    MutexLock lock(&mutex_);
    frozen_ = frozen;
  });
}

void TransportNode::SetHooks(MessageHook on_message, SentHook on_sent) {
  Run([&](net::Transport&) {
    on_message_ = std::move(on_message);
    on_sent_ = std::move(on_sent);
  });
}

bool TransportNode::WaitUntil(const std::function<bool(const Record&)>& condition) {
  const absl::Time end = MonotonicNow() + kDeadline;
  MutexLock lock(&mutex_);
  while (!condition(record_)) {
    const absl::Duration left = end - MonotonicNow();
    if (left <= absl::ZeroDuration()) return false;
    changed_.WaitFor(&mutex_, left);
  }
  return true;
}

TransportNode::Record TransportNode::record() const {
  MutexLock lock(&mutex_);
  return record_;
}

void TransportNode::OnMessage(std::uint8_t type, ByteSpan header, ByteSpan payload) {
  if (on_message_) {
    on_message_(*transport_, type, header, payload);
    return;
  }
  MutexLock lock(&mutex_);
  record_.messages.push_back({type, Copy(header), Copy(payload)});
  changed_.NotifyAll();
}

void TransportNode::OnSent(net::SendToken token, const absl::Status& status) {
  // The destructor's reports come when transport_ is null already.
  if (on_sent_ && transport_ != nullptr) on_sent_(*transport_, token, status);
  MutexLock lock(&mutex_);
  record_.sent.emplace_back(token, status);
  changed_.NotifyAll();
}

void TransportNode::OnGot(net::GetToken token, const absl::Status& status) {
  MutexLock lock(&mutex_);
  record_.got.emplace_back(token, status);
  changed_.NotifyAll();
}

void TransportNode::OnPeerDown(net::PeerId peer, const absl::Status& status) {
  MutexLock lock(&mutex_);
  record_.downs.emplace_back(peer, status);
  changed_.NotifyAll();
}

void TransportNode::Loop() {
  while (true) {
    std::deque<std::function<void()>> tasks;
    bool frozen = false;
    {
      MutexLock lock(&mutex_);
      while (frozen_ && tasks_.empty() && !stopping_) changed_.Wait(&mutex_);
      if (stopping_ && tasks_.empty()) break;
      tasks.swap(tasks_);
      frozen = frozen_;
    }
    for (const auto& task : tasks) task();
    if (frozen || !tasks.empty()) continue;
    if (!transport_->Progress(*this)) transport_->Wait(absl::Seconds(1));
  }
  std::exchange(transport_, nullptr).reset();
}

}  // namespace weir::testing
