#include "common/base/log_line.h"

#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

std::string Quoted(absl::string_view text) {
  using nlohmann::json;
  return json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

absl::string_view LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

void SetSource(absl::string_view who, LogRecord& record) {
  const std::size_t blank = who.rfind(' ');
  int index = 0;
  if (blank != absl::string_view::npos && absl::SimpleAtoi(who.substr(blank + 1), &index)) {
    record.index = index;
    who = who.substr(0, blank);
  }
  record.role = std::string(who);
}

std::string JsonLogLine(const LogRecord& record) {
  return absl::StrCat(
      "{\"time\":\"", absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", record.time, absl::UTCTimeZone()),
      "\",\"level\":\"", LogLevelName(record.level), "\",\"role\":", Quoted(record.role),
      ",\"index\":", record.index.has_value() ? absl::StrCat(*record.index) : "null",
      ",\"pid\":", record.pid, ",\"message\":", Quoted(record.message), "}");
}

}  // namespace weir
