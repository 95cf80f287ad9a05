// A worker that only moves bytes, and says when, so that a test can end a ps in the midst of it:
//
//   usage: transfer_worker JOB.json push|pull      (with TF_CONFIG set)
//
// Writes "push 1 begins", "push 1 ends" and so on, until one fails: "push 7 fails: ..."; exits with
// the failure's code.
#include <weir/client.h>
#include <weir/exit_code.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "jobs/job_file.h"

namespace weir::testing {
namespace {

absl::Status Transfer(const std::string& job_file, bool pushes) {
  WEIR_ASSIGN_OR_RETURN(const auto job, ReadJobFile(job_file));
  WEIR_ASSIGN_OR_RETURN(const auto client,
                        Client::Connect({.job = job->name(), .tensors = job->tensors()}));
  WEIR_ASSIGN_OR_RETURN(Parameters weights, client->AllocateParameters());
  WEIR_ASSIGN_OR_RETURN(Parameters gradients, client->AllocateParameters());
  const char* const name = pushes ? "push" : "pull";
  for (int i = 1;; ++i) {
    if (pushes) WEIR_RETURN_IF_ERROR(client->NextStep(weights).status());
    std::printf("%s %d begins\n", name, i);
    const absl::Status status = pushes ? client->Push(gradients) : client->Pull(weights);
    if (!status.ok()) {
      std::printf("%s %d fails: %s\n", name, i, status.ToString().c_str());
      return status;
    }
    std::printf("%s %d ends\n", name, i);
  }
}

}  // namespace
}  // namespace weir::testing

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (count != 3) return static_cast<int>(weir::ExitCode::kBadUsage);
  const absl::Status status =
      weir::testing::Transfer(arguments[1], std::strcmp(arguments[2], "push") == 0);
  return static_cast<int>(weir::ExitCodeOf(status));
}
