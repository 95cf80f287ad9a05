#pragma once

#include <cstdint>

namespace weir {

/// Bumped with every change of a schema's meaning; peers with another one are refused.
inline constexpr std::uint32_t kProtocolVersion = 1;

}  // namespace weir
