#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace weir::chief {

/// MODEL_DIR/metrics.jsonl: one JSON object a line, appended. Lines of earlier runs stay.
/// Threading: Append by one thread; Sync by any.
class TrainingLog {
 public:
  /// Errors: exit code 2 when the file cannot be written.
  static absl::StatusOr<TrainingLog> Open(const std::string& path);

  /// Writes the line and a newline in one write, so that readers never see half of one.
  absl::Status Append(const std::string& line);
  /// Waits until everything appended so far is durable.
  absl::Status Sync();

 private:
  TrainingLog(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  UniqueFd fd_;
};

}  // namespace weir::chief
