#pragma once

#include <map>
#include <string>

namespace weir {

/// Where an option's value came from.
enum class Origin { kDefault, kFile, kTfConfig, kEnvironment, kFlag };

/// By the flag's name ("--seed"); of what is not there: kDefault.
using Origins = std::map<std::string, Origin>;

}  // namespace weir
