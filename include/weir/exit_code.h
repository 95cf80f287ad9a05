#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace weir {

/// What the exit code of `weir`, or of a program that returns it, tells a script.
enum class ExitCode : int {
  kDone = 0,
  kFailed = 1,    ///< failed at run time
  kBadUsage = 2,  ///< arguments or configuration: address in use, token, version, batch size
  kBadData = 3,   ///< data or checkpoint missing or corrupt
  kPeerLost = 4,  ///< a peer was lost and the job cannot go on
};

/// `status` with the exit code that it should end the program with. A status without one ends it
/// with kFailed. kOk statuses are returned as they are.
absl::Status WithExitCode(absl::Status status, ExitCode code);

/// The code that `WithExitCode` attached; kDone for kOk, else kFailed where there is none.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace weir
