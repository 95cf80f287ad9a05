#pragma once

#include <string>

#include "absl/status/status.h"
#include "chief/logic/summary_data.h"

namespace weir::chief {

/// One JSON object, with the keys of --summary, and a newline.
std::string SummaryToJson(const Summary& summary);

/// Writes it to `path`: whole or not at all, by rename. Errors name the path.
absl::Status WriteSummary(const Summary& summary, const std::string& path);

}  // namespace weir::chief
