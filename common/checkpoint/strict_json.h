#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace weir {

/// What a text may cost: JSON comes from files that nobody vouches for.
struct JsonLimits {
  int depth = 16;                   ///< of objects and lists in each other
  std::size_t values = 16'000'000;  ///< of any kind; bounds the memory
};

/// Parses one JSON value. Duplicate keys are refused: readers differ in which one they believe.
/// Errors: kInvalidArgument with the place (a byte from 1, or a key) and what is wrong there.
absl::StatusOr<nlohmann::json> ParseStrictJson(absl::string_view text, const JsonLimits& limits);

/// `text` as a JSON string, quotes included. Errors: kInvalidArgument if it is not UTF-8.
absl::StatusOr<std::string> QuoteJson(const std::string& text);

}  // namespace weir
