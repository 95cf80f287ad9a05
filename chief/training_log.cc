#include "chief/training_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "weir/exit_code.h"

namespace weir::chief {
namespace {

absl::Status ErrnoStatus(absl::string_view what, const std::string& path) {
  return absl::InternalError(absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

// A run that was killed in the middle of a write leaves a line without its end.
absl::StatusOr<bool> EndsInMidLine(int fd, const std::string& path) {
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size < 0) return ErrnoStatus("seek in", path);
  if (size == 0) return false;
  char last = 0;
  if (pread(fd, &last, 1, size - 1) != 1) return ErrnoStatus("read", path);
  return last != '\n';
}

}  // namespace

absl::StatusOr<TrainingLog> TrainingLog::Open(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.valid()) {
    return WithExitCode(absl::FailedPreconditionError(absl::StrCat(
                            "cannot write the training log ", path, ": ", std::strerror(errno),
                            "; choose another --model-dir or make it "
                            "writable")),
                        ExitCode::kBadUsage);
  }
  WEIR_ASSIGN_OR_RETURN(const bool mid_line, EndsInMidLine(fd.get(), path));
  TrainingLog log(path, std::move(fd));
  if (mid_line) WEIR_RETURN_IF_ERROR(log.Append(""));
  return log;
}

absl::Status TrainingLog::Append(const std::string& line) {
  const std::string text = line + "\n";
  ssize_t written = 0;
  do {
    written = write(fd_.get(), text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) return ErrnoStatus("append to", path_);
  if (static_cast<std::size_t>(written) < text.size()) {
    return absl::ResourceExhaustedError(absl::StrCat("the disk is full: ", path_));
  }
  return absl::OkStatus();
}

absl::Status TrainingLog::Sync() {
  if (fdatasync(fd_.get()) != 0) return ErrnoStatus("sync", path_);
  return absl::OkStatus();
}

}  // namespace weir::chief
