#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir {

/// Columns aligned by spaces, two between them, those whose bit is set in `right` to the right; a
/// line each row, the last one's newline too. All rows have as many cells as the first.
std::string TextTable(std::span<const std::vector<std::string>> rows, unsigned right);

/// "[3, 3, 1, 32]"; "[]" for a scalar.
std::string ShapeText(std::span<const std::int64_t> shape);

}  // namespace weir
