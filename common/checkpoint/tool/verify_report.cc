#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/tool/verify.h"
#include "common/model/tensor_name.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using nlohmann::json;

absl::string_view Plural(std::uint64_t count) { return count == 1 ? "" : "s"; }

std::string AsText(const Verification& v) {
  std::string text;
  for (const std::string& problem : v.problems) absl::StrAppend(&text, "problem: ", problem, "\n");
  if (v.problem_count > v.problems.size()) {
    absl::StrAppend(&text, "... and ", v.problem_count - v.problems.size(), " problems more\n");
  }
  const std::size_t shown = std::min(v.not_finite.size(), kMaxShownProblems);
  for (std::size_t i = 0; i < shown; ++i) {
    const Verification::Values& values = v.not_finite[i];
    absl::StrAppend(&text, "warning: tensor ", QuotedName(values.tensor), " has ", values.count.nan,
                    " NaN and ", values.count.infinite, " infinite values\n");
  }
  if (v.not_finite.size() > shown) {
    absl::StrAppend(&text, "... and ", v.not_finite.size() - shown, " such tensors more\n");
  }
  absl::StrAppend(&text, v.path, ": ");
  if (v.problem_count > 0) {
    absl::StrAppend(&text, v.problem_count, " problem", Plural(v.problem_count), "\n");
    return text;
  }
  if (v.is_checkpoint) absl::StrAppend(&text, "step ", v.step, ", ");
  absl::StrAppend(&text, v.tensors, " tensor", Plural(v.tensors), " in ", v.files, " file",
                  Plural(v.files), ", ", v.bytes, " bytes: ok",
                  v.is_checkpoint ? "\n" : " (a file alone has no checksums)\n");
  return text;
}

json AsJson(const Verification& v) {
  json not_finite = json::array();
  for (const Verification::Values& values : v.not_finite) {
    not_finite.push_back({{"tensor", values.tensor},
                          {"nan", values.count.nan},
                          {"infinite", values.count.infinite}});
  }
  json report = {{"path", v.path},
                 {"ok", v.problem_count == 0},
                 {"checksums", v.is_checkpoint},
                 {"tensors", v.tensors},
                 {"files", v.files},
                 {"bytes", v.bytes},
                 {"problem_count", v.problem_count},
                 {"problems", v.problems},
                 {"not_finite", std::move(not_finite)}};
  if (v.is_checkpoint) report["step"] = v.step;
  return report;
}

}  // namespace

Report ReportOn(const Verification& verification, ReportFormat format) {
  Report report;
  report.text =
      format == ReportFormat::kJson ? JsonReport(AsJson(verification)) : AsText(verification);
  if (verification.problem_count == 0) return report;
  report.status = WithExitCode(absl::DataLossError(absl::StrCat(
                                   verification.path, " is corrupt: ", verification.problem_count,
                                   " problem", Plural(verification.problem_count))),
                               ExitCode::kBadData);
  return report;
}

}  // namespace weir
