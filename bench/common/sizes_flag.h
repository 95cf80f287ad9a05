#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/flag_value.h"

namespace weir::bench {

/// "8,64k,1m": bytes of float32 tensors, k, m and g being powers of 1024. Each is a multiple of 4,
/// from 4 bytes to 16 GiB.
FlagValue SizesValue(std::vector<std::uint64_t>& target);

/// As SizesValue reads it: "64k"; what is no whole number of KiB in bytes.
std::string SizeText(std::uint64_t bytes);

}  // namespace weir::bench
