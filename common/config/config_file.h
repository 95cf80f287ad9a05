#pragma once

#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "common/config/flag_table.h"
#include "common/config/mistakes.h"

namespace weir {

/// Sets the table's variables from a file: one JSON object, its keys the flags' names without
/// their dashes, its values numbers, text and true or false as the flags take them. Returns the
/// flags that it named. All mistakes are reported, each under file, line and key: keys that are no
/// flag of `subject` ("weir run"; the nearest is told), given twice, of the wrong type or out of
/// range; a file that cannot be read or is no such object.
std::set<std::string> ReadConfigFile(const std::string& path, absl::string_view subject,
                                     const FlagTable& table, Mistakes& mistakes);

}  // namespace weir
