#include "common/net/sysv/shared_memory.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/ids.h"
#include "common/base/status_macros.h"
#include "common/net/sysv/segment_key.h"

namespace weir::net {

absl::StatusOr<std::unique_ptr<Memory>> SysvMemory::Create(std::size_t bytes) {
  if (bytes == 0 || bytes > std::numeric_limits<std::ptrdiff_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot share ", bytes, " bytes of memory"));
  }
  WEIR_ASSIGN_OR_RETURN(Segment segment, Segment::Create(SegmentBytes(bytes)));
  const SegmentKey key{.id = segment.id(), .bytes = bytes, .mark = {RandomId(), RandomId()}};
  SetMark(segment.bytes(), key.mark);
  return std::unique_ptr<Memory>(new SysvMemory(std::move(segment), bytes, key.Pack()));
}

}  // namespace weir::net
