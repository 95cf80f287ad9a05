#pragma once

#include <string>

#include "absl/status/status.h"
#include "chief/logic/summary_data.h"

namespace weir::chief {

/// One JSON object, with the keys of --summary, and a newline.
std::string SummaryToJson(const Summary& summary);

/// Whether WriteSummary to `path` would find its folder writable: a mistyped path is better told
/// before the training. Fine where `path` is empty. Errors: exit code 2.
absl::Status CheckSummaryPath(const std::string& path);

/// Writes it to `path`: whole or not at all, by rename. Errors name the path.
absl::Status WriteSummary(const Summary& summary, const std::string& path);

}  // namespace weir::chief
