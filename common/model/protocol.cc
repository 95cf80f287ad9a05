#include "common/model/protocol.h"

#include <cstddef>

namespace weir {
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

bool SameUcxSeries(absl::string_view a, absl::string_view b) {
  return !SeriesOf(a).empty() && SeriesOf(a) == SeriesOf(b);
}

}  // namespace weir
