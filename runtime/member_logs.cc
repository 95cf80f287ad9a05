#include "runtime/member_logs.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"

namespace weir {
namespace {

constexpr std::uint64_t kWake = ~std::uint64_t{0};
constexpr absl::Duration kClosePatience = absl::Seconds(2);

absl::Status Failed(const char* what) {
  return absl::InternalError(
      absl::StrCat("cannot ", what, " for a member's log: ", std::strerror(errno)));
}

absl::Status Watch(const UniqueFd& epoll, const UniqueFd& fd, std::uint64_t name) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = name}};
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) return Failed("watch a pipe");
  return absl::OkStatus();
}

}  // namespace

MemberLogs::MemberLogs(LogFormat format, std::function<void(absl::string_view)> write)
    : format_(format),
      write_(std::move(write)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  // Without descriptors there is no reading; Read then says so, before a member depends on it.
  if (Watch(epoll_, wake_, kWake).ok()) reader_ = std::jthread([this] { ReadAll(); });
}

MemberLogs::~MemberLogs() { Close(); }

absl::StatusOr<MemberLogs::Pipe> MemberLogs::Open() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Failed("make a pipe");
  return Pipe{.member_end = UniqueFd(ends[1]), .read_end = UniqueFd(ends[0])};
}

absl::Status MemberLogs::Read(const Task& task, int pid, UniqueFd read_end) {
  MutexLock lock(&mutex_);
  sources_.push_back({task, std::move(read_end), MemberLines(task.ToString(), pid, format_)});
  return Watch(epoll_, sources_.back().fd, sources_.size() - 1);
}

std::string MemberLogs::LastError(const Task& task) {
  const absl::Time give_up = MonotonicNow() + absl::Seconds(1);
  MutexLock lock(&mutex_);
  const auto found = std::ranges::find(sources_, task, &Source::task);
  if (found == sources_.end()) return "";
  while (found->fd.valid() && MonotonicNow() < give_up) {
    ended_.WaitFor(&mutex_, give_up - MonotonicNow());
  }
  return found->lines.last_error();
}

void MemberLogs::Close() {
  {
    MutexLock lock(&mutex_);
    close_by_ = std::min(close_by_, MonotonicNow() + kClosePatience);
  }
  const std::uint64_t one = 1;
  // Cannot fail: the counter is far from its end.
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
  if (reader_.joinable()) reader_.join();
}

bool MemberLogs::AllEnded() {
  return std::ranges::none_of(sources_, [](const Source& s) { return s.fd.valid(); });
}

void MemberLogs::ReadAll() {
  for (;;) {
    int timeout_ms = -1;
    {
      MutexLock lock(&mutex_);
      if (close_by_ != absl::InfiniteFuture()) {
        const absl::Duration left = close_by_ - MonotonicNow();
        if (AllEnded() || left <= absl::ZeroDuration()) return;
        timeout_ms = static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
      }
    }
    std::array<epoll_event, 16> events{};
    const int count = epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 != kWake) {
        ReadSome(events[i].data.u64);
        continue;
      }
      std::uint64_t value = 0;
      [[maybe_unused]] const ssize_t got = read(wake_.get(), &value, sizeof value);
    }
  }
}

void MemberLogs::ReadSome(std::size_t index) {
  std::array<char, 1 << 14> piece{};
  std::string lines;
  {
    MutexLock lock(&mutex_);
    Source& source = sources_[index];
    const ssize_t count = read(source.fd.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) return;
    if (count > 0) {
      lines = source.lines.Take({piece.data(), static_cast<std::size_t>(count)});
    } else {
      lines = source.lines.TakeRest();
      source.fd.reset();  // which also ends the watching
      ended_.NotifyAll();
    }
  }
  if (!lines.empty()) write_(lines);
}

}  // namespace weir
