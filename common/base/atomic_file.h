#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/bytes.h"
#include "common/base/unique_fd.h"

namespace weir {

/// A file that appears under its name whole and durable, or not at all: it is written under
/// `.NAME.tmp-RANDOM` in the same folder, synchronised, then renamed over NAME.
/// Destruction before Commit removes the temporary file. Threads: one at a time.
/// Errors name the path and what the system said; the code is absl::ErrnoToStatus's.
class AtomicFile {
 public:
  static absl::StatusOr<AtomicFile> Create(const std::string& folder, const std::string& name);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) = delete;
  ~AtomicFile();

  /// Writes all of `bytes` at `offset`; what is skipped reads as zeros.
  absl::Status WriteAt(std::uint64_t offset, ByteSpan bytes);
  /// Makes the file durable, gives it its name and makes the folder durable. Only once, and last.
  absl::Status Commit();

  /// Where it is until Commit.
  const std::string& temporary_path() const { return temporary_; }

 private:
  AtomicFile(std::string folder, std::string name, std::string temporary, UniqueFd fd);
  std::string folder_;
  std::string name_;
  std::string temporary_;  ///< empty once there is nothing to remove
  UniqueFd fd_;
};

/// `text` as FOLDER/NAME, by AtomicFile.
absl::Status WriteFileAtomically(const std::string& folder, const std::string& name,
                                 const std::string& text);
/// The same for a path, relative ones too.
absl::Status WriteFileAtomically(const std::string& path, const std::string& text);

/// Whether WriteFileAtomically(path, ...) would find its folder writable; leaves nothing behind.
absl::Status ProbeFile(const std::string& path);

/// Makes renames and removals in `folder` durable.
absl::Status SyncFolder(const std::string& folder);

/// A file opened for reading. Errors: kNotFound and the rest of absl::ErrnoToStatus;
/// kInvalidArgument if it is not a regular file.
struct OpenedFile {
  UniqueFd fd;
  std::uint64_t bytes;
};
absl::StatusOr<OpenedFile> OpenForReading(const std::string& path);

/// Fills `out` from `offset`. Errors: kDataLoss if the file ends before that. `path` is for the
/// message only.
absl::Status ReadAt(const UniqueFd& fd, const std::string& path, std::uint64_t offset,
                    MutableByteSpan out);

/// The whole file. Errors: as OpenForReading; kInvalidArgument if it is longer than `max_bytes`
/// (then nothing is read).
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, std::uint64_t max_bytes);

}  // namespace weir
