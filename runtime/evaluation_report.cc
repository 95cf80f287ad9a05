#include "runtime/evaluation_report.h"

#include <string>

namespace weir {

wire::EvaluationDoneT ReportOf(std::uint64_t step, const absl::StatusOr<Evaluation>& evaluation) {
  wire::EvaluationDoneT done;
  done.step = step;
  if (!evaluation.ok()) {
    done.error = std::string(evaluation.status().message());
  } else if (evaluation->examples == 0) {
    done.error = "the test set is empty";
  } else {
    const auto examples = static_cast<double>(evaluation->examples);
    done.accuracy = static_cast<float>(static_cast<double>(evaluation->correct) / examples);
    done.loss = static_cast<float>(evaluation->loss_sum / examples);
    done.examples = static_cast<std::uint64_t>(evaluation->examples);
  }
  return done;
}

}  // namespace weir
