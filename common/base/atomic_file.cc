#include "common/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/ids.h"
#include "common/base/status_macros.h"

namespace weir {
namespace {

absl::Status Failed(const char* what, const std::string& path) {
  const int error = errno;  // before anything that may change it
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", what, " ", path));
}

std::string FolderOf(const std::string& path) {
  const std::filesystem::path file(path);
  return file.has_parent_path() ? file.parent_path().string() : ".";
}

std::string NameOf(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& folder, const std::string& name) {
  std::string temporary =
      absl::StrCat(folder, "/.", name, ".tmp-", absl::Hex(RandomId(), absl::kZeroPad16));
  UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd.valid()) return Failed("create", temporary);
  return AtomicFile(folder, name, std::move(temporary), std::move(fd));
}

AtomicFile::AtomicFile(std::string folder, std::string name, std::string temporary, UniqueFd fd)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      temporary_(std::move(temporary)),
      fd_(std::move(fd)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      name_(std::move(other.name_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::move(other.fd_)) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status AtomicFile::WriteAt(std::uint64_t offset, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Failed("write", temporary_);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  if (fsync(fd_.get()) != 0) return Failed("synchronise", temporary_);
  // A network file system may report a failed write only here.
  if (close(fd_.release()) != 0) return Failed("close", temporary_);
  const std::string path = absl::StrCat(folder_, "/", name_);
  if (rename(temporary_.c_str(), path.c_str()) != 0) return Failed("rename a new file to", path);
  temporary_.clear();
  return SyncFolder(folder_);
}

absl::Status WriteFileAtomically(const std::string& folder, const std::string& name,
                                 const std::string& text) {
  WEIR_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(folder, name));
  WEIR_RETURN_IF_ERROR(file.WriteAt(0, std::as_bytes(std::span(text))));
  return file.Commit();
}

absl::Status WriteFileAtomically(const std::string& path, const std::string& text) {
  return WriteFileAtomically(FolderOf(path), NameOf(path), text);
}

absl::Status ProbeFile(const std::string& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a directory"));
  }
  return AtomicFile::Create(FolderOf(path), NameOf(path)).status();
}

absl::Status SyncFolder(const std::string& folder) {
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return Failed("open the folder", folder);
  // Some file systems cannot synchronise a folder; then the rename is as durable as they make it.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return Failed("synchronise the folder", folder);
  return absl::OkStatus();
}

absl::StatusOr<OpenedFile> OpenForReading(const std::string& path) {
  // Non-blocking, so that a FIFO by this name cannot hang the caller.
  OpenedFile file{UniqueFd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)), 0};
  if (!file.fd.valid()) return Failed("open", path);
  struct stat info;
  if (fstat(file.fd.get(), &info) != 0) return Failed("examine", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  }
  file.bytes = static_cast<std::uint64_t>(info.st_size);
  return file;
}

absl::Status ReadAt(const UniqueFd& fd, const std::string& path, std::uint64_t offset,
                    MutableByteSpan out) {
  while (!out.empty()) {
    const ssize_t count = pread(fd.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failed("read", path);
    if (count == 0) {
      return absl::DataLossError(
          absl::StrCat(path, " ends at byte ", offset, ", ", out.size(), " bytes early"));
    }
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, std::uint64_t max_bytes) {
  WEIR_ASSIGN_OR_RETURN(OpenedFile file, OpenForReading(path));
  if (file.bytes > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", file.bytes, " bytes; at most ", max_bytes, " are read"));
  }
  std::string text(file.bytes, '\0');
  WEIR_RETURN_IF_ERROR(ReadAt(file.fd, path, 0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace weir
