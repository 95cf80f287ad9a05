#include "jobs/registry.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "jobs/fashion_mnist.h"
#include "jobs/job_file.h"
#include "weir/exit_code.h"

namespace weir {

absl::StatusOr<ChosenJob> CreateJob(const std::string& name) {
  if (name == "fashion-mnist") return ChosenJob{CreateFashionMnist(), false};
  if (absl::StrContains(name, '/') || absl::EndsWith(name, ".json")) {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Job> job, ReadJobFile(name));
    return ChosenJob{std::move(job), true};
  }
  return WithExitCode(
      absl::NotFoundError(absl::StrCat("--job: there is no job '", name,
                                       "'; this program has fashion-mnist; a file's name ends with "
                                       ".json")),
      ExitCode::kBadUsage);
}

}  // namespace weir
