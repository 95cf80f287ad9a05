#include "common/net/ucx/version.h"

#include <ucp/api/ucp.h>

#include "absl/strings/str_cat.h"
#include "common/model/protocol.h"

namespace weir::net {

std::string UcxVersion() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  return absl::StrCat(major, ".", minor, ".", release);
}

std::string TcpKey(absl::string_view name) {
  const std::string version = UcxVersion();
  const bool bare = SameUcxSeries(version, "1.13.0") || SameUcxSeries(version, "1.14.0");
  return absl::StrCat(bare ? "" : "TCP_", name);
}

}  // namespace weir::net
