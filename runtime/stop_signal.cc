#include "runtime/stop_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <map>
#include <thread>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/unique_fd.h"

namespace weir {
namespace {

std::atomic<bool> received_signal{false};
std::atomic<int> wake_fd{-1};

void Wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_fd.load(), &one, sizeof one);
}

// Async-signal-safe: atomics, signal and write only; leaves errno to whom it interrupted.
void Handle(int /*signal*/) {
  const int interrupted_errno = errno;
  received_signal = true;
  // Both: whoever follows a Ctrl-C with a kill, or the other way round, means it.
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
  Wake();
  errno = interrupted_errno;
}

void Install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  // A call that the signal interrupts goes on; whoever waits is woken by the callbacks.
  action.sa_flags = SA_RESTART;
  // One at a time, so that the second finds the default.
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGTERM);
  sigaddset(&action.sa_mask, SIGINT);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

class StopSignal::Impl {
 public:
  Impl() : event_(eventfd(0, EFD_CLOEXEC)) {
    wake_fd = event_.get();
    Install(Handle);
    thread_ = std::jthread([this] { Run(); });
  }

  ~Impl() {
    Install(SIG_DFL);
    ending_ = true;
    Wake();
    thread_.join();
    wake_fd = -1;
  }

  int Add(std::function<void()> on_stop) {
    MutexLock lock(&mutex_);
    callbacks_[++last_id_] = std::move(on_stop);
    if (received()) Wake();
    return last_id_;
  }

  void Remove(int id) {
    MutexLock lock(&mutex_);
    callbacks_.erase(id);
  }

 private:
  void Run() {
    while (!ending_) {
      std::uint64_t count = 0;
      if (read(event_.get(), &count, sizeof count) < 0 && errno != EINTR) return;
      if (!received()) continue;
      MutexLock lock(&mutex_);
      for (auto& [id, on_stop] : callbacks_) {
        if (on_stop) std::exchange(on_stop, nullptr)();
      }
    }
  }

  UniqueFd event_;
  std::atomic<bool> ending_{false};
  Mutex mutex_;
  std::map<int, std::function<void()>> callbacks_ ABSL_GUARDED_BY(mutex_);
  int last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::jthread thread_;
};

StopSignal::StopSignal() : impl_(std::make_unique<Impl>()) {}
StopSignal::~StopSignal() = default;
bool StopSignal::received() { return received_signal.load(); }
StopSignal::Registration StopSignal::OnStop(std::function<void()> on_stop) {
  return Registration(this, impl_->Add(std::move(on_stop)));
}

StopSignal::Registration& StopSignal::Registration::operator=(Registration&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(id_, other.id_);
  return *this;
}

StopSignal::Registration::~Registration() {
  if (owner_ != nullptr) owner_->impl_->Remove(id_);
}

}  // namespace weir
