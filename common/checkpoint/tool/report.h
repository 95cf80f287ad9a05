#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"

namespace weir {

enum class ReportFormat {
  kText,  ///< tables for people
  kJson,  ///< one object (or list) for programs, indented by two
};

/// What one of the checkpoint tools found, and whether that is sound.
struct Report {
  std::string text;     ///< for stdout, with its last newline; empty where nothing could be read
  absl::Status status;  ///< exit code 3: what is missing or corrupt (the first of it)
};

/// The text of a JSON report. Names come from files that nobody vouches for: what is not UTF-8 in
/// them is replaced.
std::string JsonReport(const nlohmann::json& value);

}  // namespace weir
