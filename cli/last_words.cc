#include "cli/last_words.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/mistakes.h"
#include "weir/exit_code.h"

namespace weir::cli {
namespace {

constexpr char kAborted[] = "weir: internal error: aborted; the line above may say where\n";
constexpr char kAdvice[] =
    "  this is a bug in weir or in a library that it uses: please report it with the log\n"
    "  WEIR_CORE=1 in the environment leaves a core dump to look into\n";

bool wants_core = false;  // read once: a signal handler may not ask the environment

// In a handler: only what POSIX allows there.
void Put(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

[[noreturn]] void End() {
  Put(kAdvice);
  if (wants_core) {
    std::signal(SIGABRT, SIG_DFL);
    std::abort();
  }
  _exit(static_cast<int>(ExitCode::kFailed));
}

void OnAbort(int) {
  Put(kAborted);
  End();
}

std::string CurrentException() {
  const std::exception_ptr current = std::current_exception();
  if (current == nullptr) return "terminated";
  try {
    std::rethrow_exception(current);
  } catch (const std::exception& error) {
    return absl::StrCat("uncaught exception: ", Printable(error.what(), 400));
  } catch (...) {
    return "uncaught exception of an unknown kind";
  }
}

[[noreturn]] void OnTerminate() {
  Put(absl::StrCat("weir: internal error: ", CurrentException(), "\n").c_str());
  End();
}

}  // namespace

void InstallLastWords() {
  const char* core = std::getenv("WEIR_CORE");
  wants_core = core != nullptr && std::strcmp(core, "1") == 0;
  std::set_terminate(OnTerminate);
  struct sigaction action {};
  action.sa_handler = OnAbort;
  sigaction(SIGABRT, &action, nullptr);
}

}  // namespace weir::cli
