#include "runtime/progress_display.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "common/base/mutex.h"
#include "runtime/progress_line.h"

namespace weir {
namespace {

constexpr char kClearLine[] = "\r\x1b[K";

// A longer line would wrap, and clearing it would leave its beginning behind.
std::string Fitting(std::string line) {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 && line.size() >= size.ws_col)
    line.resize(size.ws_col - 1);
  return line;
}

}  // namespace

class ProgressDisplay::Impl {
 public:
  void Write(absl::string_view lines) {
    MutexLock lock(&mutex_);
    if (live_) std::fputs(kClearLine, stderr);
    std::fwrite(lines.data(), 1, lines.size(), stderr);
    Draw();
  }

  void Open(const rpc::ChannelOptions& chief) {
    if (live_) chief_ = rpc::ChiefClient::Create(chief);
  }

  void Refresh() {
    if (!chief_) return;
    const auto status = chief_->GetStatus(absl::Milliseconds(300));
    if (status.ok()) SetLine(Fitting(ProgressLine(*status)));
  }

  void Clear() {
    if (live_) SetLine("");
  }

  void Close() {
    Clear();
    chief_.reset();
  }

 private:
  void SetLine(std::string line) {
    MutexLock lock(&mutex_);
    line_ = std::move(line);
    std::fputs(kClearLine, stderr);
    Draw();
  }

  void Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::fputs(line_.c_str(), stderr);
    std::fflush(stderr);
  }

  const bool live_ = isatty(STDERR_FILENO) == 1;
  std::unique_ptr<rpc::ChiefClient> chief_;
  Mutex mutex_;
  std::string line_ ABSL_GUARDED_BY(mutex_);
};

ProgressDisplay::ProgressDisplay() : impl_(std::make_unique<Impl>()) {}
ProgressDisplay::~ProgressDisplay() = default;
void ProgressDisplay::Write(absl::string_view lines) { impl_->Write(lines); }
void ProgressDisplay::Clear() { impl_->Clear(); }
void ProgressDisplay::Open(const rpc::ChannelOptions& chief) { impl_->Open(chief); }
void ProgressDisplay::Refresh() { impl_->Refresh(); }
void ProgressDisplay::Close() { impl_->Close(); }

}  // namespace weir
