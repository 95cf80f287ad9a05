#include "common/net/ucx/waiter.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/net/ucx/status.h"

namespace weir::net {

absl::StatusOr<UcxWaiter> UcxWaiter::Create(ucp_worker_h worker, absl::Duration spin) {
  int worker_fd = -1;
  WEIR_RETURN_IF_ERROR(
      FromUcs(ucp_worker_get_efd(worker, &worker_fd), "asking UCX for its event descriptor"));
  UniqueFd bell(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (bell.get() < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("creating an eventfd: ", std::strerror(errno), " (see ulimit -n)"));
  }
  return UcxWaiter(worker, worker_fd, std::move(bell), spin);
}

void UcxWaiter::Wait(absl::Duration timeout) {
  const absl::Duration sleep = std::clamp(timeout, absl::ZeroDuration(), kLongestSleep);
  if (spin_ > absl::ZeroDuration()) {
    const absl::Time end = MonotonicNow() + std::min(spin_, sleep);
    do {
      if (ucp_worker_arm(worker_) != UCS_OK || Poll(absl::ZeroDuration())) return;
    } while (MonotonicNow() < end);
  }
  // Not armed: something came in since the last Progress.
  if (ucp_worker_arm(worker_) == UCS_OK) Poll(sleep);
}

bool UcxWaiter::Arm() { return ucp_worker_arm(worker_) == UCS_OK; }

void UcxWaiter::Sleep(absl::Duration timeout) {
  Poll(std::clamp(timeout, absl::ZeroDuration(), kLongestSleep));
}

void UcxWaiter::Ring() {
  const std::uint64_t one = 1;
  // Full means that it rings already.
  [[maybe_unused]] const ssize_t written = write(bell_.get(), &one, sizeof(one));
}

// True when the worker or the bell has something; the bell is then silent again.
bool UcxWaiter::Poll(absl::Duration timeout) {
  std::array<pollfd, 2> polled = {pollfd{worker_fd_, POLLIN, 0}, pollfd{bell_.get(), POLLIN, 0}};
  const timespec limit = absl::ToTimespec(timeout);
  if (ppoll(polled.data(), polled.size(), &limit, nullptr) <= 0) return false;
  if ((polled[1].revents & POLLIN) != 0) {
    std::uint64_t rings = 0;
    [[maybe_unused]] const ssize_t got = read(bell_.get(), &rings, sizeof(rings));
  }
  return true;
}

}  // namespace weir::net
