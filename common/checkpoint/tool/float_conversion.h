#pragma once

#include <span>

#include "absl/strings/string_view.h"
#include "common/base/bytes.h"

namespace weir {

/// Whether ToFloats knows `dtype`: F32, F16, BF16, F64.
bool ConvertsToFloat(absl::string_view dtype);

/// Little-endian values of `dtype` (ConvertsToFloat, `raw` holds out.size() of them) as float.
/// F32, F16 and BF16 keep their values, NaN and infinity too; F64 is rounded to the nearest, and
/// to infinity beyond float's range.
void ToFloats(absl::string_view dtype, ByteSpan raw, std::span<float> out);

}  // namespace weir
