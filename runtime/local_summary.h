#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/child_process.h"

namespace weir {

/// The chief's summary file, as JSON text, with each member's exit code and memory filled in from
/// its process. Errors: kNotFound when the chief wrote none.
absl::StatusOr<std::string> CompleteSummary(const std::string& path,
                                            const std::vector<ChildProcess>& members);

/// Writes the text by a temporary file and rename. Errors: kInternal (exit 1) naming the path.
absl::Status WriteSummaryFile(const std::string& path, const std::string& text);

/// The summary for a person: members, paths, speed, staleness, accuracy; at the end one line with
/// the most of it, and the peak memory of each role.
std::string SummaryTable(const std::string& summary);

}  // namespace weir
