#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace weir {

/// `name` in single quotes, fit for a log or a terminal whoever chose it: what is not printable, or
/// no UTF-8, is escaped.
std::string QuotedName(absl::string_view name);

}  // namespace weir
