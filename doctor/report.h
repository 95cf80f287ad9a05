#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "doctor/check.h"

namespace weir::doctor {

/// For people: a line a check in columns, the fix below what it is for, all within 100 columns
/// unless a word is longer, and the result as the last line.
std::string ReportText(std::span<const Check> checks);

/// For programs: {"checks": [{"name", "status", "found", "fix"}], "result": "ok|warn|fail"}.
std::string ReportJson(std::span<const Check> checks);

/// The checks of what ReportJson wrote; none for anything else, such as the half of it.
std::optional<std::vector<Check>> ParseReportJson(absl::string_view text);

}  // namespace weir::doctor
