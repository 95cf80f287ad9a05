#include "doctor/amounts.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace weir::doctor {

std::string Bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  auto amount = static_cast<double>(bytes);
  while (amount >= 1024 && unit + 1 < std::size(kUnits)) {
    amount /= 1024;
    ++unit;
  }
  std::string digits = absl::StrFormat("%.1f", amount);
  return absl::StrCat(absl::StripSuffix(digits, ".0"), " ", kUnits[unit]);
}

std::optional<std::uint64_t> Number(absl::string_view text) {
  std::uint64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> NumberOf(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, key) || !absl::ConsumePrefix(&line, ":")) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    return words.empty() ? std::nullopt : Number(words.front());
  }
  return std::nullopt;
}

}  // namespace weir::doctor
