#include "common/base/eta_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace weir {

std::string EtaText(std::optional<absl::Duration> left) {
  if (!left.has_value()) return "--";
  const std::int64_t seconds = absl::ToInt64Seconds(absl::Ceil(*left, absl::Seconds(1)));
  const std::int64_t minutes = seconds / 60;
  const std::int64_t hours = minutes / 60;
  if (minutes == 0) return absl::StrCat(seconds, "s");
  if (hours == 0) return absl::StrFormat("%dm%02ds", minutes, seconds % 60);
  if (hours < 48) return absl::StrFormat("%dh%02dm", hours, minutes % 60);
  return absl::StrFormat("%dd%02dh", hours / 24, hours % 24);
}

}  // namespace weir
