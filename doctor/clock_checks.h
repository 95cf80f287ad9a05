#pragma once

#include <optional>
#include <string>

#include "doctor/check.h"

namespace weir::doctor {

/// The text of .../clocksource0/current_clocksource: what reading the time costs.
Check CheckClockSource(const std::optional<std::string>& source);

/// Whether something keeps the clock right (the kernel's STA_UNSYNC); none: it would not say.
Check CheckClock(std::optional<bool> synchronised);

/// Asks the kernel.
std::optional<bool> ClockSynchronised();

}  // namespace weir::doctor
