#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weir {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat {
  kText,  ///< "08:16:15.123 I ps 0: text", for people
  kJson,  ///< one JSON object a line (log_line.h), for programs
};

/// Starts logging to stderr, one write a record. `who` is a role, and its index where it has one:
/// "ps 0", "chief". Call once, before other threads start; until then the format is text.
void StartLogging(absl::string_view who, LogLevel least, LogFormat format = LogFormat::kText);
LogLevel least_log_level();
LogFormat log_format();
void Log(LogLevel level, absl::string_view text);

template <typename... Parts>
void LogDebug(const Parts&... parts) {
  if (least_log_level() <= LogLevel::kDebug) Log(LogLevel::kDebug, absl::StrCat(parts...));
}
template <typename... Parts>
void LogInfo(const Parts&... parts) {
  Log(LogLevel::kInfo, absl::StrCat(parts...));
}
template <typename... Parts>
void LogWarning(const Parts&... parts) {
  Log(LogLevel::kWarning, absl::StrCat(parts...));
}
template <typename... Parts>
void LogError(const Parts&... parts) {
  Log(LogLevel::kError, absl::StrCat(parts...));
}

}  // namespace weir
