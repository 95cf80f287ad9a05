#include "cli/report.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/log.h"
#include "weir/exit_code.h"

namespace weir::cli {
namespace {

constexpr std::size_t kMaxLines = 5;

// What Mistakes makes begins with "weir run: 7 mistakes" or the like, and each stands indented.
std::string Rest(absl::string_view first_line, const std::vector<std::string>& left_out) {
  if (!absl::StrContains(first_line, " mistake")) {
    return absl::StrCat("  ... and ", left_out.size(), " more lines");
  }
  const auto mistakes = std::ranges::count_if(
      left_out, [](const std::string& line) { return absl::StartsWith(line, " "); });
  return absl::StrCat("  ... and ", mistakes, " more: `weir config",
                      absl::StartsWith(first_line, "weir local") ? " local" : "",
                      "` with the same flags shows them all");
}

int Print(const absl::Status& status, const std::string& page) {
  if (log_format() == LogFormat::kJson) {
    LogError(status.message());
  } else {
    std::fputs(page.c_str(), stderr);
  }
  return static_cast<int>(ExitCodeOf(status));
}

}  // namespace

std::string ErrorPage(absl::string_view message) {
  std::vector<std::string> lines = absl::StrSplit(message, '\n');
  while (lines.size() > 1 && lines.back().empty()) lines.pop_back();
  if (lines.size() > kMaxLines) {
    const std::vector<std::string> left_out(lines.begin() + kMaxLines - 1, lines.end());
    lines.resize(kMaxLines - 1);
    lines.push_back(Rest(lines.front(), left_out));
  }
  return absl::StrCat("weir: ", absl::StrJoin(lines, "\n"), "\n");
}

int Fail(const absl::Status& status) { return Print(status, ErrorPage(status.message())); }

int BadUsage(const std::string& what) {
  return Fail(WithExitCode(absl::InvalidArgumentError(what), ExitCode::kBadUsage));
}

int FailInFull(const absl::Status& status) {
  return Print(status, absl::StrCat("weir: ", status.message(), "\n"));
}

}  // namespace weir::cli
