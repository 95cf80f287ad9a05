#pragma once

#include <string>

#include "common/config/flag_value.h"

namespace weir {

/// --token-file: reads the token into `token` while parsing, so that a bad file is reported with
/// the other mistakes. Never shown: a command line can be read by everybody on the host.
FlagValue TokenFileValue(std::string& token);

}  // namespace weir
