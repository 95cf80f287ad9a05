#pragma once

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/bytes.h"

namespace weir::net {

/// A SysV segment in this process's address space. It lives as long as somebody has it attached,
/// and so goes with the last process, also when that is killed.
class Segment {
 public:
  /// A new one of `bytes` > 0 zeros that processes of this user can attach; of huge pages where
  /// there are any and it fills one of 2 MiB. All of it is present, so that from Linux 5.14 on no
  /// later access fails. Errors: kResourceExhausted, naming the limit that was hit.
  static absl::StatusOr<Segment> Create(std::size_t bytes);
  /// Whichever segment of this IPC namespace `id` names. Errors: kUnavailable where there is none,
  /// or it is another user's.
  static absl::StatusOr<Segment> Attach(int id);

  Segment(Segment&& other) noexcept
      : id_(other.id_), bytes_(std::exchange(other.bytes_, MutableByteSpan())) {}
  Segment& operator=(Segment&&) = delete;
  ~Segment();

  int id() const { return id_; }
  /// As the kernel says; aligned to a page.
  MutableByteSpan bytes() const { return bytes_; }

 private:
  Segment(int id, MutableByteSpan bytes) : id_(id), bytes_(bytes) {}
  static absl::StatusOr<Segment> CreateOf(int pages, std::size_t bytes);

  const int id_;
  MutableByteSpan bytes_;
};

}  // namespace weir::net
