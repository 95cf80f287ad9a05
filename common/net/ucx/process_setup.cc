#include "common/net/ucx/process_setup.h"

#include <dlfcn.h>
#include <signal.h>
#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/log.h"

namespace weir::net {
namespace {

bool BelongsToUcx(const struct sigaction& action) {
  if ((action.sa_flags & SA_SIGINFO) == 0 &&
      (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
    return false;
  }
  Dl_info info{};
  const void* handler = reinterpret_cast<const void*>(action.sa_sigaction);
  return dladdr(handler, &info) != 0 && info.dli_fname != nullptr &&
         absl::StrContains(info.dli_fname, "libucs");
}

// A crash then ends the process as crashes do, with a core; sanitizers' own handlers stay.
void RestoreSignals() {
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || !BelongsToUcx(action)) continue;
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(number, &standard, nullptr);
  }
}

ucs_log_func_rc_t LogLine(const char* file, unsigned line, const char*, ucs_log_level_t level,
                          const ucs_log_component_config_t*, const char* format, va_list args) {
  std::array<char, 1024> text{};
  std::vsnprintf(text.data(), text.size(), format, args);
  const std::string record = absl::StrCat("ucx: ", text.data(), " (", file, ":", line, ")");
  if (level <= UCS_LOG_LEVEL_ERROR) {
    Log(LogLevel::kError, record);
  } else if (level == UCS_LOG_LEVEL_WARN) {
    Log(LogLevel::kWarning, record);
  } else {
    LogDebug(record);
  }
  return UCS_LOG_FUNC_RC_STOP;
}

}  // namespace

void SetUpUcxInProcess() {
  static std::once_flag once;
  std::call_once(once, [] {
    RestoreSignals();
    // Someone who asked for UCX's log in a file of its own gets it there.
    if (std::getenv("UCX_LOG_FILE") == nullptr) ucs_log_push_handler(&LogLine);
  });
}

}  // namespace weir::net
