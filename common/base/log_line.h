#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/log.h"

namespace weir {

/// "debug", "info", "warning", "error".
absl::string_view LogLevelName(LogLevel level);

/// One record as JSON has it.
struct LogRecord {
  absl::Time time;
  LogLevel level = LogLevel::kInfo;
  std::string role;          ///< "ps", "local"
  std::optional<int> index;  ///< none: there is only one
  int pid = 0;
  absl::string_view message;  ///< any bytes
};

/// Splits StartLogging's `who` into role and index.
void SetSource(absl::string_view who, LogRecord& record);

/// {"time":"2026-01-02T03:04:05.000006Z","level":"info","role":"ps","index":0,"pid":7,
/// "message":"..."} without a newline: UTC with microseconds, `index` null where there is none;
/// what is not UTF-8 in the message becomes U+FFFD, a character for each broken sequence.
std::string JsonLogLine(const LogRecord& record);

}  // namespace weir
