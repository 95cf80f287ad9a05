#include "common/rpc/refused_peers.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mutex.h"

namespace weir::rpc {
namespace {

constexpr absl::Duration kQuiet = absl::Minutes(1);

struct Said {
  absl::Time at = absl::InfinitePast();
  int since = 0;
};

class Refusals {
 public:
  void Log(const std::string& reason) {
    int unsaid = 0;
    {
      MutexLock lock(&mutex_);
      Said& said = said_[reason];
      const absl::Time now = MonotonicNow();
      if (now - said.at < kQuiet) {
        ++said.since;
        return;
      }
      unsaid = std::exchange(said.since, 0);
      said.at = now;
    }
    LogWarning("TLS: the handshake with a peer failed: ", reason,
               unsaid > 0 ? absl::StrCat(" (and ", unsaid, " more since this was said)") : "");
  }

 private:
  Mutex mutex_;
  std::map<std::string, Said> said_ ABSL_GUARDED_BY(mutex_);  // OpenSSL's reasons are not many
};

}  // namespace

std::string WhyRefused(absl::string_view from_grpc) {
  if (absl::StrContains(from_grpc, "certificate verify failed"))
    return "its certificate is not accepted (expired, or not of the CA in --tls-ca)";
  if (absl::StrContains(from_grpc, "peer did not return a certificate"))
    return "it showed no certificate";
  if (absl::StrContains(from_grpc, "wrong version number") ||
      absl::StrContains(from_grpc, "http request"))
    return "it does not speak TLS";
  from_grpc = absl::StripSuffix(from_grpc, ".");
  constexpr absl::string_view kAlert = " alert ";
  if (const std::size_t alert = from_grpc.rfind(kAlert); alert != absl::string_view::npos) {
    return absl::StrCat("it does not accept this process's certificate: ",
                        from_grpc.substr(alert + kAlert.size()));
  }
  const std::size_t reason = from_grpc.rfind("::");
  if (reason != absl::string_view::npos) from_grpc.remove_prefix(reason + 2);
  return std::string(from_grpc);
}

void LogRefusedPeer(absl::string_view from_grpc) {
  static auto* const refusals = new Refusals;  // gRPC's threads may outlive statics
  refusals->Log(WhyRefused(from_grpc));
}

}  // namespace weir::rpc
