#pragma once

#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace weir::doctor {

/// How much a finding matters. A fail is something that a job, or the part of weir that the line
/// names, cannot work with; a warn costs speed or a feature, or could not be looked at.
enum class Verdict { kOk, kWarn, kFail };

/// "ok", "warn", "fail".
absl::string_view VerdictName(Verdict verdict);

/// One line of `weir doctor`. Text is fit for a terminal: what came from outside was escaped by
/// whoever made the check.
struct Check {
  std::string name;  ///< "open files"; the same from run to run, for scripts
  Verdict verdict = Verdict::kOk;
  std::string found;  ///< what is so, with units
  std::string fix;    ///< what to do about it; empty when ok
};

Check Ok(absl::string_view name, absl::string_view found);
Check Warn(absl::string_view name, absl::string_view found, absl::string_view fix);
Check Fail(absl::string_view name, absl::string_view found, absl::string_view fix);
/// A warn: "unknown: cannot read WHAT". Where a missing file means something by itself (a kernel
/// without the feature), the check says that instead.
Check Unknown(absl::string_view name, absl::string_view what);

/// The worst verdict among them; kOk of none.
Verdict Worst(std::span<const Check> checks);

}  // namespace weir::doctor
