#pragma once

namespace weir::cli {

/// From here on an exception that nobody caught, and an abort (a failed assertion of ours or of a
/// library), end the process with an error page and exit code 1, without a core dump: who runs a
/// job has no use for one. With WEIR_CORE=1 in the environment the dump follows the page. Crashes
/// by other signals stay as the system has them.
void InstallLastWords();

}  // namespace weir::cli
