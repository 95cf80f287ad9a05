#include "common/checkpoint/checkpoint_name.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace weir {

std::string CheckpointFolderName(Step step) { return absl::StrFormat("step-%08d", step.value()); }

std::optional<Step> StepOfCheckpointFolder(absl::string_view path) {
  while (absl::ConsumeSuffix(&path, "/")) {
  }
  const absl::string_view name = path.substr(path.rfind('/') + 1);
  absl::string_view digits = name;
  std::uint64_t number = 0;
  if (!absl::ConsumePrefix(&digits, "step-") || !absl::SimpleAtoi(digits, &number)) return {};
  // Refuses signs, spaces and another padding: one step, one name.
  if (CheckpointFolderName(Step(number)) != name) return {};
  return Step(number);
}

}  // namespace weir
