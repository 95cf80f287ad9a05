#include "cli/report.h"

#include <cstdio>
#include <string>

#include "weir/exit_code.h"

namespace weir::cli {

int Fail(const absl::Status& status) {
  const std::string text(status.message());
  std::fprintf(stderr, "weir: %s\n", text.c_str());
  return static_cast<int>(ExitCodeOf(status));
}

}  // namespace weir::cli
