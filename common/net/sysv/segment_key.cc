#include "common/net/sysv/segment_key.h"

#include <cstring>
#include <limits>

namespace weir::net {
namespace {

constexpr std::size_t kMarkRoom = 64;  // bytes: a cache line of its own

// As it travels, in native byte order: it is for this host alone.
struct Packed {
  std::uint64_t magic = 0x316d'6765'7372'6977;  // "wirsegm1", read as bytes
  std::int64_t id = 0;
  std::uint64_t bytes = 0;
  SegmentMark mark{};
};
static_assert(sizeof(Packed) == 40, "no padding");

}  // namespace

std::size_t SegmentBytes(std::size_t bytes) {
  return (bytes + kMarkRoom - 1) / kMarkRoom * kMarkRoom + kMarkRoom;
}

std::string SegmentKey::Pack() const {
  Packed packed;
  packed.id = id;
  packed.bytes = bytes;
  packed.mark = mark;
  std::string text(sizeof(packed), '\0');
  std::memcpy(text.data(), &packed, sizeof(packed));
  return text;
}

std::optional<SegmentKey> SegmentKey::Unpack(absl::string_view packed) {
  Packed key;
  if (packed.size() != sizeof(key)) return std::nullopt;
  std::memcpy(&key, packed.data(), sizeof(key));
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max() - 2 * kMarkRoom;
  if (key.magic != Packed().magic || key.id < 0 || key.id > std::numeric_limits<int>::max() ||
      key.bytes == 0 || key.bytes > kMost || key.mark == SegmentMark()) {
    return std::nullopt;
  }
  return SegmentKey{.id = static_cast<int>(key.id), .bytes = key.bytes, .mark = key.mark};
}

std::optional<SegmentMark> MarkOf(ByteSpan segment) {
  if (segment.size() < SegmentBytes(1)) return std::nullopt;
  SegmentMark mark;
  std::memcpy(mark.data(), segment.last(kMarkRoom).data(), sizeof(mark));
  return mark;
}

void SetMark(MutableByteSpan segment, const SegmentMark& mark) {
  std::memcpy(segment.last(kMarkRoom).data(), mark.data(), sizeof(mark));
}

}  // namespace weir::net
