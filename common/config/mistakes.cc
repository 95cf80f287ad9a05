#include "common/config/mistakes.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

// A generated file may have the same fault a million times.
constexpr std::size_t kMaxLines = 1000;

}  // namespace

void Mistakes::Add(absl::string_view key, absl::string_view text) {
  if (lines_.size() == kMaxLines) {
    ++left_out_;
    return;
  }
  lines_.push_back(absl::StrCat(key, ": ", text));
}

absl::Status Mistakes::ToStatus(absl::string_view subject) const {
  if (empty()) return absl::OkStatus();
  std::string message = absl::StrCat(subject, ": ", size(), size() == 1 ? " mistake" : " mistakes");
  for (const std::string& line : lines_) absl::StrAppend(&message, "\n  ", line);
  if (left_out_ > 0) absl::StrAppend(&message, "\n  ... and ", left_out_, " more");
  return WithExitCode(absl::InvalidArgumentError(message), ExitCode::kBadUsage);
}

std::string Printable(absl::string_view text, std::size_t limit) {
  std::string shown = absl::CEscape(text.substr(0, limit));
  if (text.size() > limit) absl::StrAppend(&shown, "... (", text.size(), " bytes)");
  return shown;
}

std::string Quoted(absl::string_view text) { return absl::StrCat("\"", Printable(text), "\""); }

}  // namespace weir
