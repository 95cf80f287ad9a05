#pragma once

namespace weir::net {

/// Takes back what loading UCX did to the process: its handlers of SIGSEGV, SIGBUS, SIGILL and
/// SIGFPE become the default again, and its log lines go to weir's log rather than to stdout.
/// UCX reads the environment as it is loaded, before main, so that setting UCX_ERROR_SIGNALS or
/// UCX_LOG_FILE in main would be too late. Done once; any thread.
void SetUpUcxInProcess();

}  // namespace weir::net
