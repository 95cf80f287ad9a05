#include "doctor/resolve.h"

#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/mutex.h"

namespace weir::doctor {
namespace {

// A name server that does not answer costs its time-outs, some 10 s a name; so many at once.
constexpr std::size_t kMostThreads = 32;

// Shared by the caller, who may leave, and the threads, who may stay.
class Lookups {
 public:
  Lookups(std::vector<std::string> hosts, Lookup look_up)
      : hosts_(std::move(hosts)), look_up_(std::move(look_up)) {}

  const std::vector<std::string>& hosts() const { return hosts_; }

  /// Takes hosts from the list until it is empty.
  void Work() {
    while (const std::string* host = Next()) {
      Resolution answer = look_up_(*host);
      const MutexLock lock(&mutex_);
      answers_.emplace(*host, std::move(answer));
      answered_.NotifyAll();
    }
  }

  std::map<std::string, Resolution> AnswersBy(absl::Time deadline) {
    const MutexLock lock(&mutex_);
    while (answers_.size() < hosts_.size() && absl::Now() < deadline) {
      answered_.WaitFor(&mutex_, deadline - absl::Now());
    }
    return answers_;
  }

 private:
  const std::string* Next() {
    const MutexLock lock(&mutex_);
    return next_ < hosts_.size() ? &hosts_[next_++] : nullptr;
  }

  const std::vector<std::string> hosts_;  // each once
  const Lookup look_up_;
  Mutex mutex_;
  CondVar answered_;
  std::size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Resolution> answers_ ABSL_GUARDED_BY(mutex_);
};

std::vector<std::string> EachOnce(std::span<const std::string> hosts) {
  std::vector<std::string> sorted(hosts.begin(), hosts.end());
  std::ranges::sort(sorted);
  const auto repeated = std::ranges::unique(sorted);
  sorted.erase(repeated.begin(), repeated.end());
  return sorted;
}

void StartThreads(const std::shared_ptr<Lookups>& lookups) {
  const std::size_t count = std::min(kMostThreads, lookups->hosts().size());
  for (std::size_t i = 0; i < count; ++i) {
    try {
      std::thread([lookups] { lookups->Work(); }).detach();
    } catch (const std::system_error&) {
      return;  // at the limit of threads: those that run do the work; without any, time runs out
    }
  }
}

}  // namespace

Resolution LookUpHost(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;  // else each address comes once for each type
  addrinfo* list = nullptr;
  const int code = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (code != 0) {
    return {.error = code == EAI_SYSTEM ? std::generic_category().message(errno)
                                        : std::string(gai_strerror(code))};
  }
  Resolution resolution;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    SocketAddress address;
    if (one->ai_addrlen > sizeof address.storage) continue;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.length = one->ai_addrlen;
    resolution.addresses.push_back(address);
  }
  freeaddrinfo(list);
  return resolution;
}

std::map<std::string, Resolution> ResolveAll(std::span<const std::string> hosts,
                                             absl::Duration limit, const Lookup& look_up) {
  const absl::Time deadline = absl::Now() + limit;
  const auto lookups = std::make_shared<Lookups>(EachOnce(hosts), look_up);
  StartThreads(lookups);
  std::map<std::string, Resolution> answers = lookups->AnswersBy(deadline);
  for (const std::string& host : lookups->hosts()) {
    answers.try_emplace(
        host, Resolution{.error = absl::StrCat("no answer within ", absl::FormatDuration(limit))});
  }
  return answers;
}

}  // namespace weir::doctor
