#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace weir {

/// The candidate that `word` was probably meant to be, or none when nothing is close: the smallest
/// number of inserted, dropped, changed or swapped characters, at most a third of the word's. Case
/// and `_` for `-` do not count, and a beginning that fits one candidate only is close to it. Of
/// equals, the first.
std::optional<std::string> Nearest(absl::string_view word, std::span<const std::string> candidates);

/// The first candidate at the smallest distance of at most `limit`, counted as Nearest does.
std::optional<std::string> NearestWithin(absl::string_view word,
                                         std::span<const std::string> candidates,
                                         std::size_t limit);

/// "; did you mean X?" or "".
std::string DidYouMean(absl::string_view word, std::span<const std::string> candidates);

}  // namespace weir
