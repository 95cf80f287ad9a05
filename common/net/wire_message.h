#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "common/base/bytes.h"

namespace weir::net {

/// A copy of the header (it may arrive unaligned), or nothing where its length is not exactly the
/// struct's. Its fields are unchecked.
template <typename Struct>
std::optional<Struct> ReadHeader(ByteSpan header) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  if (header.size() != sizeof(Struct)) return std::nullopt;
  Struct copy;
  std::memcpy(&copy, header.data(), sizeof(Struct));
  return copy;
}

/// The session that a header names, whatever else it has: its first eight bytes, as in every struct
/// of schemas/data.fbs. Of a shorter one 0, which is nobody's session.
inline std::uint64_t SessionOf(ByteSpan header) {
  std::uint64_t session = 0;
  if (header.size() >= sizeof(session)) std::memcpy(&session, header.data(), sizeof(session));
  return session;
}

}  // namespace weir::net
