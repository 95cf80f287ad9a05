#pragma once

#include <cstdint>

#include "common/base/bytes.h"

namespace weir {

/// XXH3, 64 bits, seed 0: finds corruption, not forgery.
std::uint64_t Checksum(ByteSpan bytes);

}  // namespace weir
