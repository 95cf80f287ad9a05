#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "schemas/chief_generated.h"
#include "weir/model.h"

namespace weir {

/// What the chief is told of one evaluation, or of why there is none.
wire::EvaluationDoneT ReportOf(std::uint64_t step, const absl::StatusOr<Evaluation>& evaluation);

}  // namespace weir
