#include "common/config/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"

namespace weir {
namespace {

absl::Status ErrnoText(int error) {
  return absl::InvalidArgumentError(std::generic_category().message(error));
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, std::size_t max_bytes) {
  if (path.find('\0') != std::string::npos)
    return absl::InvalidArgumentError("a file's name has no zero byte");
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return ErrnoText(errno);
  std::string text(max_bytes + 1, '\0');
  std::size_t used = 0;
  while (used < text.size()) {
    const ssize_t got = read(file.get(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoText(errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  if (used > max_bytes)
    return absl::InvalidArgumentError(absl::StrCat("larger than ", max_bytes, " bytes"));
  text.resize(used);
  return text;
}

}  // namespace weir
