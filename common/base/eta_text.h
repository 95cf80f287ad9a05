#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"

namespace weir {

/// How long something will still take, for people: "--" where it is not known, else the two
/// largest units: "8s", "3m20s", "2h05m", "4d06h".
std::string EtaText(std::optional<absl::Duration> left);

}  // namespace weir
