#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

/// Returns from the calling function when `expression` is not ok.
#define WEIR_RETURN_IF_ERROR(expression)                                                \
  do {                                                                                  \
    if (absl::Status weir_status = (expression); !weir_status.ok()) return weir_status; \
  } while (false)

#define WEIR_ASSIGN_OR_RETURN_IMPL(result, target, expression) \
  auto result = (expression);                                  \
  if (!result.ok()) return std::move(result).status();         \
  target = *std::move(result)

/// Assigns the value of a StatusOr, or returns its status from the calling function.
#define WEIR_ASSIGN_OR_RETURN(target, expression) \
  WEIR_ASSIGN_OR_RETURN_IMPL(WEIR_CONCAT(weir_result_, __LINE__), target, expression)
