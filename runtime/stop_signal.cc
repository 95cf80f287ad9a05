#include "runtime/stop_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <map>
#include <thread>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/unique_fd.h"

namespace weir {
namespace {

std::atomic<int> received_signal{0};
std::atomic<int> wake_fd{-1};

void Wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_fd.load(), &one, sizeof one);
}

// Async-signal-safe: atomics and write only.
void Handle(int signal) {
  int none = 0;
  if (received_signal.compare_exchange_strong(none, signal)) {
    // Both: SIGTERM and then Ctrl-C are a second signal too.
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGINT, SIG_DFL);
    Wake();
  }
}

}  // namespace

class StopSignal::Impl {
 public:
  Impl() : event_(eventfd(0, EFD_CLOEXEC)) {
    wake_fd = event_.get();
    struct sigaction action {};
    action.sa_handler = Handle;
    action.sa_flags = SA_RESTART;  // a write of a checkpoint must not fail of it
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    thread_ = std::jthread([this] { Run(); });
  }

  ~Impl() {
    ending_ = true;
    Wake();
    thread_.join();
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGINT, SIG_DFL);
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
      if (read(event_.get(), &count, sizeof count) < 0) continue;
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
bool StopSignal::received() { return received_signal.load() != 0; }
int StopSignal::exit_code() {
  const int signal = received_signal.load();
  return signal == 0 ? 0 : 128 + signal;
}
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
