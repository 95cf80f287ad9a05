#include "doctor/clock_checks.h"

#include <sys/timex.h>

#include "absl/strings/str_cat.h"
#include "common/config/mistakes.h"

namespace weir::doctor {

Check CheckClockSource(const std::optional<std::string>& source) {
  constexpr char kName[] = "clock source";
  constexpr char kWhere[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  if (!source.has_value()) return Unknown(kName, kWhere);
  const std::string found = Printable(*source);
  // Read through a device or a tick rather than in user space: about a microsecond each time.
  if (found == "hpet" || found == "acpi_pm" || found == "jiffies" || found == "refined-jiffies") {
    return Warn(kName, absl::StrCat(found, ": reading the time costs a microsecond or more"),
                "boot with clocksource=tsc tsc=reliable if the CPUs have an invariant TSC");
  }
  return Ok(kName, found);
}

Check CheckClock(std::optional<bool> synchronised) {
  constexpr char kName[] = "clock";
  if (!synchronised.has_value()) return Unknown(kName, "the kernel's clock state (adjtimex)");
  if (*synchronised) return Ok(kName, "synchronised");
  return Warn(kName,
              "not synchronised: logs of several hosts will not line up, and TLS "
              "certificates may seem expired",
              "run chrony or systemd-timesyncd, on the host of a container or virtual machine");
}

std::optional<bool> ClockSynchronised() {
  timex state{};  // modes 0: only looks, which needs no privilege
  if (adjtimex(&state) < 0) return std::nullopt;
  return (state.status & STA_UNSYNC) == 0;
}

}  // namespace weir::doctor
