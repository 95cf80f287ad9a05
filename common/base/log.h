#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weir {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Starts logging to stderr, one line a record: time, level, `who` ("ps 0") and the text.
/// Call once, before other threads start.
void StartLogging(absl::string_view who, LogLevel least);
LogLevel least_log_level();
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
