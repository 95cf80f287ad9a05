#include "common/net/ucx/version.h"

#include <ucp/api/ucp.h>

#include "absl/strings/str_cat.h"

namespace weir::net {
namespace {

// "1.13" of "1.13.1"; empty where there is no such thing.
absl::string_view SeriesOf(absl::string_view version) {
  const std::size_t major = version.find('.');
  if (major == absl::string_view::npos || major == 0) return {};
  const std::size_t minor = version.find('.', major + 1);
  const absl::string_view series = version.substr(0, minor);
  return series.size() > major + 1 ? series : absl::string_view();
}

}  // namespace

std::string UcxVersion() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  return absl::StrCat(major, ".", minor, ".", release);
}

bool SameUcxSeries(absl::string_view a, absl::string_view b) {
  return !SeriesOf(a).empty() && SeriesOf(a) == SeriesOf(b);
}

std::string TcpKey(absl::string_view name) {
  const std::string version = UcxVersion();
  const bool bare = SameUcxSeries(version, "1.13.0") || SameUcxSeries(version, "1.14.0");
  return absl::StrCat(bare ? "" : "TCP_", name);
}

}  // namespace weir::net
