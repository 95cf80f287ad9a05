#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/config/flag_value.h"
#include "common/config/job_options.h"

namespace weir {

/// Values that a command line may name and of which this version has some: each refuses what it
/// does not have yet with "not in this version", and what is nothing at all as a mistake.
FlagValue TransportValue(TransportChoice& target);
/// debug, info, warning, error.
FlagValue LogLevelValue(LogLevel& target);
/// text, json.
FlagValue LogFormatValue(LogFormat& target);
/// async; bounded:S and sync:N are refused.
FlagValue ModeValue(std::string& target);
/// sgd.
FlagValue OptimizerValue(std::string& target);
/// 0; replication is not there yet.
FlagValue BackupsValue();
/// A flag that is wholly refused.
FlagValue NotInThisVersion();

/// "A-B", ports with A <= B.
absl::Status CheckPortRange(const std::string& text);
/// Names with commas between: "mlx5_0:1,eth0".
absl::Status CheckDeviceList(const std::string& text);

}  // namespace weir
