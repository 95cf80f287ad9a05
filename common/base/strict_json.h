#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir {

/// What a text may cost: JSON comes from files that nobody vouches for.
struct JsonLimits {
  std::size_t bytes = std::size_t{1} << 20;
  std::size_t depth = 32;           ///< of objects and lists in each other
  std::size_t values = 16'000'000;  ///< of any kind; bounds the memory
};

/// One thing that is wrong with a text, fit for a terminal.
struct JsonFault {
  std::string path;      ///< "files[1].bytes"; empty: of the text as a whole
  std::string what;      ///< "stands twice in its object; keep one"
  std::size_t line = 0;  ///< from 1; 0: of no one line, or `what` says it
};

/// Where the keys of the outermost object stand: lines from 1; of a repeated key the last.
using JsonLines = std::map<std::string, std::size_t>;

/// Reads one JSON value, more strictly than most readers do: a key given twice in an object
/// (readers differ in which one they believe), zero bytes, broken UTF-8, numbers that fit no type
/// and anything beyond the limits are faults. A repeated key still gives a value (the last counts),
/// so that a person can be told of the rest too; any other fault gives none and is the last.
/// `faults` is appended to; a thousand end the reading. `lines`, where given, is filled in.
std::optional<nlohmann::json> ReadJson(absl::string_view text, const JsonLimits& limits,
                                       std::vector<JsonFault>& faults, JsonLines* lines = nullptr);

/// The same for what programs write: the first fault is an error, kInvalidArgument with its place.
absl::StatusOr<nlohmann::json> ParseStrictJson(absl::string_view text, const JsonLimits& limits);

/// `text` as a JSON string, quotes included. Errors: kInvalidArgument if it is not UTF-8.
absl::StatusOr<std::string> QuoteJson(const std::string& text);

}  // namespace weir
