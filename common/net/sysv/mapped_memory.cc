#include "common/net/sysv/mapped_memory.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/net/sysv/segment_key.h"

namespace weir::net {
namespace {

constexpr std::size_t kPageBytes = 4096;

absl::Status CannotMap(const std::string& name, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat(
      "mapping memory of ", name, ": ", why,
      ": it is on another host, in another IPC namespace (containers) or of another user, or its "
      "process has ended"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<MappedMemory>> SysvMappedMemory::Create(const std::string& key,
                                                                       std::size_t bytes,
                                                                       const std::string& name) {
  const std::optional<SegmentKey> named = SegmentKey::Unpack(key);
  if (!named.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "what ", name, " gave as the key of its memory (", key.size(), " bytes) is none"));
  }
  if (bytes == 0 || bytes > named->bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory of ", name, " of ", named->bytes, " bytes is said to have ", bytes));
  }
  absl::StatusOr<Segment> segment = Segment::Attach(named->id);
  if (!segment.ok()) return CannotMap(name, segment.status().message());
  if (MarkOf(segment->bytes()) != named->mark) {
    return CannotMap(name, "the SysV segment of that number is another one");
  }
  // The kernel's word on the size: what a peer says must not be what lets a read crash this
  // process.
  if (segment->bytes().size() != SegmentBytes(named->bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory of ", name, " has not the ", named->bytes, " bytes of its key"));
  }
  return std::unique_ptr<MappedMemory>(new SysvMappedMemory(*std::move(segment), bytes));
}

// Or the first read runs at the speed of page faults, below 1 GB/s.
bool SysvMappedMemory::Prefault(std::size_t bytes) {
  const volatile std::byte* const first = bytes_.data();
  const std::size_t end = touched_ + std::min(bytes, bytes_.size() - touched_);
  for (; touched_ < end; touched_ += kPageBytes) {
    [[maybe_unused]] const std::byte touched = first[touched_];
  }
  touched_ = std::min(touched_, bytes_.size());
  return touched_ < bytes_.size();
}

}  // namespace weir::net
