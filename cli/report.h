#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weir::cli {

/// An error as it ends a command: "weir: " and at most five lines. Of a longer list of mistakes the
/// first stand there, and where the rest is to be seen.
std::string ErrorPage(absl::string_view message);

/// Prints the error page to stderr (where the log is JSON: one record with all of it) and returns
/// the status's exit code.
int Fail(const absl::Status& status);
/// Fail, for a command line that says `what` wrong.
int BadUsage(const std::string& what);

/// The same with the whole message, however long.
int FailInFull(const absl::Status& status);

}  // namespace weir::cli
