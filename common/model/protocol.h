#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace weir {

/// Bumped with every change of a schema's meaning; peers with another one are refused.
inline constexpr std::uint32_t kProtocolVersion = 4;

/// Of the buffers that a worker pushes from, a ps keeps so many mapped, or open: the last ones.
inline constexpr std::size_t kBuffersKeptMapped = 4;

/// Whether two UCX versions ("1.13.1") have the same major.minor. Others must not meet: UCX's wire
/// format differs between series, and a peer of another one can make it abort the process.
bool SameUcxSeries(absl::string_view a, absl::string_view b);

}  // namespace weir
