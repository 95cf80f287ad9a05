// `weir generate`: what is installed beside the program and must say what its tables say.
#include "cli/generate.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "weir/exit_code.h"

namespace weir::cli {

int Generate(std::span<const std::string> arguments) {
  std::string text;
  if (!arguments.empty() && arguments[0] == "man") {
    text = ManPage(arguments.size() > 1 ? arguments[1] : "");
  } else if (!arguments.empty() && arguments[0] == "completion") {
    text = BashCompletion();
  }
  if (text.empty()) {
    return Fail(
        WithExitCode(absl::InvalidArgumentError("usage: weir generate man [COMMAND] | completion"),
                     ExitCode::kBadUsage));
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace weir::cli
