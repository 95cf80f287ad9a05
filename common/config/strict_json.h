#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/config/mistakes.h"

namespace weir {

/// A configuration is written by people; anything larger or deeper is something else.
inline constexpr std::size_t kMaxJsonBytes = 1 << 20;
inline constexpr std::size_t kMaxJsonDepth = 32;

/// Reads one JSON value, more strictly than most readers do: a key given twice in an object, zero
/// bytes, broken UTF-8, more than kMaxJsonBytes or a nesting beyond kMaxJsonDepth are mistakes. A
/// repeated key still gives a value (the last counts), so that the rest can be checked too;
/// otherwise none. `source` is the key of mistakes that have no path.
std::optional<nlohmann::json> ParseStrictJson(absl::string_view text, absl::string_view source,
                                              Mistakes& mistakes);

/// A value for an error message: as JSON, cut short.
std::string ShownJson(const nlohmann::json& value);

}  // namespace weir
