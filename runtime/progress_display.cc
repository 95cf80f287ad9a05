#include "runtime/progress_display.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/unique_fd.h"

namespace weir {
namespace {

constexpr char kClearLine[] = "\r\x1b[K";

std::string Line(const wire::StatusReplyT& status) {
  std::string line =
      absl::StrFormat("%s  step %d/%d", status.phase, status.global_step, status.max_steps);
  if (status.steps_per_second > 0) {
    const double left = static_cast<double>(status.max_steps - status.global_step);
    absl::StrAppendFormat(&line, "  loss %.4f  %.1f steps/s  staleness p99 %d  ETA %.0f s",
                          status.loss, status.steps_per_second, status.staleness_p99,
                          left / status.steps_per_second);
  }
  return line;
}

}  // namespace

class ProgressDisplay::Impl {
 public:
  Impl() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
    read_end_ = UniqueFd(ends[0]);
    write_end_ = UniqueFd(ends[1]);
    copier_ = std::jthread([this] { Copy(); });
  }

  ~Impl() { Close(); }

  int log_fd() const { return write_end_.get(); }

  void Open(const rpc::ChannelOptions& chief) { chief_ = rpc::ChiefClient::Create(chief); }

  void Refresh() {
    if (!chief_) return;
    const auto status = chief_->GetStatus(absl::Milliseconds(300));
    if (!status.ok()) return;
    MutexLock lock(&mutex_);
    line_ = Line(*status);
    Draw();
  }

  void Close() {
    write_end_.reset();  // the members' copies are closed by then: the reader sees the end
    if (copier_.joinable()) copier_.join();
    MutexLock lock(&mutex_);
    line_.clear();
    Draw();
  }

 private:
  // Log pieces go out whole lines at a time, above the progress line.
  void Copy() {
    std::string pending;
    std::array<char, 4096> piece{};
    ssize_t count = 0;
    while ((count = read(read_end_.get(), piece.data(), piece.size())) > 0) {
      pending.append(piece.data(), static_cast<std::size_t>(count));
      const std::size_t end = pending.rfind('\n');
      if (end == std::string::npos) continue;
      MutexLock lock(&mutex_);
      std::fputs(kClearLine, stderr);
      std::fwrite(pending.data(), 1, end + 1, stderr);
      Draw();
      pending.erase(0, end + 1);
    }
  }

  void Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::fputs(kClearLine, stderr);
    std::fputs(line_.c_str(), stderr);
    std::fflush(stderr);
  }

  UniqueFd read_end_;
  UniqueFd write_end_;
  std::unique_ptr<rpc::ChiefClient> chief_;
  Mutex mutex_;
  std::string line_ ABSL_GUARDED_BY(mutex_);
  std::jthread copier_;
};

ProgressDisplay::ProgressDisplay() {
  if (isatty(STDERR_FILENO) == 1) impl_ = std::make_unique<Impl>();
}
ProgressDisplay::~ProgressDisplay() = default;
int ProgressDisplay::log_fd() const { return impl_ ? impl_->log_fd() : -1; }
void ProgressDisplay::Open(const rpc::ChannelOptions& chief) {
  if (impl_) impl_->Open(chief);
}
void ProgressDisplay::Refresh() {
  if (impl_) impl_->Refresh();
}
void ProgressDisplay::Close() {
  if (impl_) impl_->Close();
}

}  // namespace weir
