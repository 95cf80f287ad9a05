#include "runtime/member_lines.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"

namespace weir {
namespace {

// A line that never ends is given out in pieces of this size.
constexpr std::size_t kMaxLine = 1 << 16;
// "08:16:15.123 I ps 0: text"; the dots stand for digits.
constexpr absl::string_view kRecordHead = "..:..:..-... ";
constexpr absl::string_view kJsonHead = "{\"time\":\"";

bool IsTextRecord(absl::string_view line) {
  if (line.size() < kRecordHead.size() + 2) return false;
  for (std::size_t i = 0; i < kRecordHead.size(); ++i) {
    const char expected = kRecordHead[i] == '-' ? '.' : kRecordHead[i];
    if (kRecordHead[i] == '.' ? !absl::ascii_isdigit(static_cast<unsigned char>(line[i]))
                              : line[i] != expected)
      return false;
  }
  return absl::StrContains("DIWE", line[kRecordHead.size()]) && line[kRecordHead.size() + 1] == ' ';
}

}  // namespace

MemberLines::MemberLines(std::string who, int pid, LogFormat format)
    : who_(std::move(who)), pid_(pid), format_(format) {}

std::string MemberLines::Take(absl::string_view bytes) {
  pending_.append(bytes.data(), bytes.size());
  std::string lines;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = pending_.find('\n', begin);
    if (end == std::string::npos) break;
    lines += Tagged(absl::string_view(pending_).substr(begin, end - begin));
    begin = end + 1;
  }
  pending_.erase(0, begin);
  if (pending_.size() >= kMaxLine) lines += TakeRest();
  return lines;
}

std::string MemberLines::TakeRest() {
  if (pending_.empty()) return "";
  return Tagged(std::exchange(pending_, ""));
}

void MemberLines::NoteRecord(absl::string_view line) {
  if (format_ == LogFormat::kJson) {
    const auto record = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
    if (record.is_object() && record.value("level", "") == "error")
      last_error_ = record.value("message", "");
    return;
  }
  line.remove_prefix(kRecordHead.size());
  if (!absl::ConsumePrefix(&line, "E ")) return;
  absl::ConsumePrefix(&line, absl::StrCat(who_, ": "));
  last_error_ = std::string(line);
}

std::string MemberLines::Tagged(absl::string_view line) {
  const bool json = format_ == LogFormat::kJson;
  if (json ? absl::StartsWith(line, kJsonHead) : IsTextRecord(line)) {
    NoteRecord(line);
    return absl::StrCat(line, "\n");
  }
  if (absl::StartsWith(line, "weir: "))
    last_error_ = std::string(absl::StripPrefix(line, "weir: "));
  if (!json) return absl::StrCat(who_, " | ", line, "\n");
  LogRecord record{.time = absl::Now(), .level = LogLevel::kWarning, .pid = pid_};
  SetSource(who_, record);
  record.message = line;
  return absl::StrCat(JsonLogLine(record), "\n");
}

}  // namespace weir
