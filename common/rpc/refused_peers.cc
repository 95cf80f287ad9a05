#include "common/rpc/refused_peers.h"

#include <cstdint>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mutex.h"
#include "common/base/occurrences.h"

namespace weir::rpc {
namespace {

class Refusals {
 public:
  void Log(const std::string& reason) {
    std::uint64_t times = 0;
    {
      MutexLock lock(&mutex_);
      times = occurrences_[reason].Add(MonotonicNow());
    }
    if (times == 0) return;
    LogWarning("TLS: the handshake with a peer failed: ", reason,
               times > 1 ? absl::StrCat(" (", times, " times in the last minutes)") : "");
  }

 private:
  Mutex mutex_;
  // By reason: OpenSSL has not many.
  std::map<std::string, Occurrences> occurrences_ ABSL_GUARDED_BY(mutex_);
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
