#pragma once

#include <string>

#include "schemas/chief_generated.h"

namespace weir::cli {

enum class JsonLayout { kIndented, kOneLine };

/// A job's status as one JSON object, and a newline.
std::string StatusJson(const wire::StatusReplyT& status, JsonLayout layout);

/// For a person: the job in two lines, a table of its members, its paths. What came from other
/// processes is fit for a terminal.
std::string StatusTable(const wire::StatusReplyT& status);

}  // namespace weir::cli
