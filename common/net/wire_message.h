#pragma once

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

}  // namespace weir::net
