#include "weir/exit_code.h"

#include <charconv>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weir {
namespace {
constexpr absl::string_view kPayloadUrl = "weir/exit-code";
}  // namespace

absl::Status WithExitCode(absl::Status status, ExitCode code) {
  if (!status.ok())
    status.SetPayload(kPayloadUrl, absl::Cord(absl::StrCat(static_cast<int>(code))));
  return status;
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return ExitCode::kDone;
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return ExitCode::kFailed;
  const std::string text(*payload);
  int code = static_cast<int>(ExitCode::kFailed);
  std::from_chars(text.data(), text.data() + text.size(), code);
  return static_cast<ExitCode>(code);
}

}  // namespace weir
