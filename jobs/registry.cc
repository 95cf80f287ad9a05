#include "jobs/registry.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "jobs/fashion_mnist.h"
#include "weir/exit_code.h"

namespace weir {

absl::StatusOr<std::unique_ptr<Job>> CreateJob(const std::string& name) {
  if (name == "fashion-mnist") return CreateFashionMnist();
  return WithExitCode(absl::NotFoundError(absl::StrCat("--job: there is no job '", name,
                                                       "'; this program has fashion-mnist")),
                      ExitCode::kBadUsage);
}

}  // namespace weir
