#include "runtime/progress_line.h"

#include <optional>

#include "absl/strings/str_format.h"
#include "common/base/eta_text.h"

namespace weir {

std::string ProgressLine(const wire::StatusReplyT& status) {
  // The chief has a loss once a worker reported, and a rate soon after.
  const bool reported = status.steps_per_second > 0;
  const std::string loss = reported ? absl::StrFormat("%.4f", status.loss) : "--";
  const std::string rate = reported ? absl::StrFormat("%.1f", status.steps_per_second) : "--";
  const auto left = status.eta_seconds < 0
                        ? std::nullopt
                        : std::optional<absl::Duration>(absl::Seconds(status.eta_seconds));
  return absl::StrFormat("%s  step %d/%d  loss %s  %s steps/s  staleness p99 %d  ETA %s",
                         status.phase, status.global_step, status.max_steps, loss, rate,
                         status.staleness_p99, EtaText(left));
}

}  // namespace weir
