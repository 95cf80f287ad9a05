#pragma once

#include <functional>
#include <optional>
#include <string>

namespace weir {

/// Looks a variable up; none when it is not set. Passed in, so that tests have their own.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// The process's own. Not while another thread changes it.
Environment ProcessEnvironment();

}  // namespace weir
