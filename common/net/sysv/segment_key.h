#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/bytes.h"

namespace weir::net {

/// What stands at the end of a segment and in its key alike. An id names some segment in every IPC
/// namespace and on every host, and another one once its own is gone: this tells them apart.
using SegmentMark = std::array<std::uint64_t, 2>;

/// A segment that holds `bytes` bytes has this much; its mark is the last of it.
std::size_t SegmentBytes(std::size_t bytes);

/// What names a segment to the processes of its host.
struct SegmentKey {
  int id = 0;
  std::uint64_t bytes = 0;  ///< without the mark
  SegmentMark mark{};

  std::string Pack() const;
  /// Nothing: `packed` is no key.
  static std::optional<SegmentKey> Unpack(absl::string_view packed);
};

/// Nothing: it is smaller than a segment with a mark.
std::optional<SegmentMark> MarkOf(ByteSpan segment);

/// `segment` has SegmentBytes.
void SetMark(MutableByteSpan segment, const SegmentMark& mark);

}  // namespace weir::net
