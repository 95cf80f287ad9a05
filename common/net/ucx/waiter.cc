#include "common/net/ucx/waiter.h"

#include <poll.h>
#include <sched.h>
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
#include "common/base/status_macros.h"
#include "common/net/ucx/status.h"

namespace weir::net {
namespace {

// Long beside a poll and a yield, which take a microsecond, short beside what a sleep costs.
constexpr absl::Duration kYieldEvery = absl::Microseconds(10);
// A yield that took this long gave the core to somebody.
constexpr absl::Duration kHeldUp = absl::Microseconds(50);
// How long UCX may keep a waiter from sleeping, and the longest sleep from then on.
constexpr absl::Duration kPatience = absl::Milliseconds(1);
constexpr absl::Duration kLongestNap = absl::Milliseconds(10);

}  // namespace

absl::StatusOr<UcxWaiter> UcxWaiter::Create(ucp_worker_h worker, absl::Duration spin,
                                            Arming arming) {
  int worker_fd = -1;
  WEIR_RETURN_IF_ERROR(
      FromUcs(ucp_worker_get_efd(worker, &worker_fd), "asking UCX for its event descriptor"));
  UniqueFd bell(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (bell.get() < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("creating an eventfd: ", std::strerror(errno), " (see ulimit -n)"));
  }
  return UcxWaiter(worker, worker_fd, std::move(bell), spin, arming);
}

void UcxWaiter::Wait(absl::Duration timeout) {
  const absl::Time now = MonotonicNow();
  if (!waiting_.has_value()) {
    const absl::Time spin_until = now + policy_.SpinAt(now);
    waiting_ = Waiting{.began = now,
                       .returned = now,
                       .polls = spin_until > now,
                       .spin_until = spin_until,
                       .next_yield = now + kYieldEvery};
  }
  if (now < waiting_->spin_until) {
    waiting_->returned = now;
    if (now >= waiting_->next_yield) Yield(now);
    return;
  }
  Sleep(now, std::clamp(timeout, absl::ZeroDuration(), kLongestSleep));
  waiting_->returned = MonotonicNow();
}

// A core that nobody else wants comes back from this within a microsecond.
void UcxWaiter::Yield(absl::Time now) {
  sched_yield();
  const absl::Time back = MonotonicNow();
  waiting_->returned = back;
  waiting_->next_yield = back + kYieldEvery;
  if (back - now < kHeldUp) return;
  policy_.OnCompetition(back);
  waiting_->spin_until = back;
}

void UcxWaiter::OnWork() {
  if (!waiting_.has_value()) return;
  // Not the time now: the work has been done meanwhile.
  policy_.OnWaitEnd(waiting_->returned, waiting_->returned - waiting_->began, waiting_->polls);
  waiting_.reset();
}

void UcxWaiter::Sleep(absl::Time now, absl::Duration timeout) {
  const bool looked = std::exchange(waiting_->armed, false);
  const bool armed = looked || ucp_worker_arm(worker_) == UCS_OK;
  if (armed && !looked && arming_ == Arming::kSignalsWhatFollows) {
    waiting_->armed = true;
    return;
  }
  if (armed) {
    waiting_->busy_since.reset();
  } else {
    // Something came in since the last Progress; or, where that goes on, UCX holds a send for which
    // a peer's shared memory has no room, and does not tell when it has. A frozen peer has none.
    if (!waiting_->busy_since.has_value()) waiting_->busy_since = now;
    const absl::Duration busy = now - *waiting_->busy_since;
    if (busy < kPatience) return;
    timeout = std::min({timeout, busy / 16, kLongestNap});
  }
  // poll(2) passes over a negative descriptor: unarmed, the worker's own may be ready all the time.
  std::array<pollfd, 2> polled = {pollfd{armed ? worker_fd_ : -1, POLLIN, 0},
                                  pollfd{bell_.get(), POLLIN, 0}};
  const timespec limit = absl::ToTimespec(timeout);
  if (ppoll(polled.data(), polled.size(), &limit, nullptr) <= 0) return;
  if ((polled[1].revents & POLLIN) != 0) {
    std::uint64_t rings = 0;
    [[maybe_unused]] const ssize_t got = read(bell_.get(), &rings, sizeof(rings));
  }
}

void UcxWaiter::Ring() {
  const std::uint64_t one = 1;
  // Full means that it rings already.
  [[maybe_unused]] const ssize_t written = write(bell_.get(), &one, sizeof(one));
}

}  // namespace weir::net
