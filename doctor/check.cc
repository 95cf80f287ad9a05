#include "doctor/check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weir::doctor {

absl::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarn:
      return "warn";
    case Verdict::kFail:
      return "fail";
  }
  return "fail";
}

Check Ok(absl::string_view name, absl::string_view found) {
  return {.name = std::string(name), .verdict = Verdict::kOk, .found = std::string(found)};
}

Check Warn(absl::string_view name, absl::string_view found, absl::string_view fix) {
  return {std::string(name), Verdict::kWarn, std::string(found), std::string(fix)};
}

Check Fail(absl::string_view name, absl::string_view found, absl::string_view fix) {
  return {std::string(name), Verdict::kFail, std::string(found), std::string(fix)};
}

Check Unknown(absl::string_view name, absl::string_view what) {
  return Warn(name, absl::StrCat("unknown: cannot read ", what),
              "look at it on the host itself; containers and sandboxes hide it");
}

Verdict Worst(std::span<const Check> checks) {
  Verdict worst = Verdict::kOk;
  for (const Check& check : checks) worst = std::max(worst, check.verdict);
  return worst;
}

}  // namespace weir::doctor
