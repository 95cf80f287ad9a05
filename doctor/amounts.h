#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace weir::doctor {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

/// "512 KiB", "8 MiB", "1.5 GiB": the largest unit of which there is at least one.
std::string Bytes(std::uint64_t bytes);

/// A kernel's whole number, decimal; none for anything else.
std::optional<std::uint64_t> Number(absl::string_view text);

/// The number in the line `key: N ...` of /proc/meminfo and its like.
std::optional<std::uint64_t> NumberOf(absl::string_view text, absl::string_view key);

}  // namespace weir::doctor
