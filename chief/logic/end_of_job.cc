#include "chief/logic/end_of_job.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weir::chief {

void EndOfJob::OnLeft(const MemberRecord& worker, int exit_code, const std::string& reason) {
  last_ = exit_code == 0 ? Last::kLeft : Last::kLost;
  departure_ = absl::StrCat(worker.Describe(), " left with exit code ", exit_code, ": ", reason);
}

void EndOfJob::OnLost(const MemberRecord& worker, const std::string& how) {
  last_ = Last::kLost;
  departure_ = absl::StrCat(worker.Describe(), " was lost: ", how);
}

EndOfJob::Verdict EndOfJob::Judge(const std::vector<const MemberRecord*>& live, bool max_reached,
                                  bool stop_requested) const {
  const bool all_finished = std::all_of(
      live.begin(), live.end(), [](const MemberRecord* worker) { return worker->finished; });
  if (!all_finished) return Verdict::kGoesOn;
  if (max_reached) return Verdict::kComplete;
  if (stop_requested) return Verdict::kStopped;
  switch (last_) {
    case Last::kNone:
      return Verdict::kGoesOn;
    case Last::kFinished:
      return Verdict::kComplete;
    case Last::kLeft:
      return live.empty() ? Verdict::kStopped : Verdict::kComplete;
    case Last::kLost:
      return Verdict::kWorkersLost;
  }
  return Verdict::kGoesOn;
}

}  // namespace weir::chief
