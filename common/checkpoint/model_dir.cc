#include "common/checkpoint/model_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"
#include "common/base/ids.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

constexpr char kNonceFileName[] = ".weir-nonce";
constexpr char kLockFileName[] = ".weir-lock";
constexpr std::uint64_t kMaxNonceBytes = 4096;

/// `status` as the caller's own mistake; `what` says what was tried.
absl::Status BadModelDir(const absl::Status& status, absl::string_view what,
                         const std::string& model_dir) {
  return WithExitCode(
      absl::Status(status.code(),
                   absl::StrCat("model directory ", model_dir, ": ", what, ": ", status.message(),
                                "; give a directory that can be written, by --model-dir")),
      ExitCode::kBadUsage);
}

absl::Status WriteProbe(const std::string& model_dir) {
  const std::string name = absl::StrCat(".weir-probe-", absl::Hex(RandomId(), absl::kZeroPad16));
  WEIR_RETURN_IF_ERROR(WriteFileAtomically(model_dir, name, "probe\n"));
  const std::string path = absl::StrCat(model_dir, "/", name);
  if (unlink(path.c_str()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
}

}  // namespace

absl::Status CheckWritable(const std::string& model_dir) {
  std::error_code error;
  std::filesystem::create_directories(model_dir, error);
  if (error) {
    return BadModelDir(absl::ErrnoToStatus(error.value(), "mkdir"), "cannot be created", model_dir);
  }
  const absl::Status probe = WriteProbe(model_dir);
  if (!probe.ok()) return BadModelDir(probe, "cannot be written", model_dir);
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> ClaimModelDir(const std::string& model_dir) {
  const std::string path = absl::StrCat(model_dir, "/", kLockFileName);
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.valid()) {
    return BadModelDir(absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path)),
                       "cannot be written", model_dir);
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) {
    LogDebug(path, " cannot be locked: ", std::strerror(errno));
    return fd;
  }
  return WithExitCode(
      absl::AlreadyExistsError(
          absl::StrCat("model directory ", model_dir,
                       " is in use by another chief: end that job, or give another --model-dir")),
      ExitCode::kBadUsage);
}

absl::Status WriteNonce(const std::string& model_dir, const std::string& nonce) {
  const absl::Status written = WriteFileAtomically(model_dir, kNonceFileName, nonce);
  if (!written.ok()) return BadModelDir(written, "cannot be written", model_dir);
  return absl::OkStatus();
}

absl::Status CheckNonce(const std::string& model_dir, const std::string& nonce) {
  const std::string path = absl::StrCat(model_dir, "/", kNonceFileName);
  const absl::StatusOr<std::string> found = ReadWholeFile(path, kMaxNonceBytes);
  if (found.ok() && *found == nonce) return absl::OkStatus();
  const std::string why =
      found.ok() ? absl::StrCat(path, " is of another run") : std::string(found.status().message());
  return WithExitCode(
      absl::FailedPreconditionError(absl::StrCat(
          "model directory ", model_dir, " is not the one that the chief sees (", why,
          "): every ps must share it with the chief; mount it here, or give its path by "
          "--model-dir")),
      ExitCode::kBadUsage);
}

}  // namespace weir
