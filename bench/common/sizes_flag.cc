#include "bench/common/sizes_flag.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/config/mistakes.h"

namespace weir::bench {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 30U;
constexpr char kUnits[] = "kmg";

absl::StatusOr<std::uint64_t> SizeOf(absl::string_view text) {
  const auto mistake = [text](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(text), what));
  };
  absl::string_view digits = text;
  unsigned shift = 0;
  for (unsigned unit = 0; kUnits[unit] != '\0'; ++unit) {
    if (!digits.empty() && digits.back() == kUnits[unit]) {
      digits.remove_suffix(1);
      shift = 10 * (unit + 1);
      break;
    }
  }
  std::uint64_t number = 0;
  // SimpleAtoi takes a sign and spaces, which no size has.
  if (digits.empty() || digits.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(digits, &number)) {
    return mistake(" is not a size; write sizes such as 8,64k,1m with commas between");
  }
  if (number > kMostBytes >> shift) return mistake(" is more than 16g");
  number <<= shift;
  if (number == 0 || number % sizeof(float) != 0) {
    return mistake(" is no multiple of 4 bytes above 0: the elements are float32");
  }
  return number;
}

}  // namespace

FlagValue SizesValue(std::vector<std::uint64_t>& target) {
  return {[&target](absl::string_view text) -> absl::Status {
            std::vector<std::uint64_t> sizes;
            for (const absl::string_view part : absl::StrSplit(text, ',')) {
              WEIR_ASSIGN_OR_RETURN(sizes.emplace_back(), SizeOf(part));
            }
            target = std::move(sizes);
            return absl::OkStatus();
          },
          [&target]() -> std::optional<std::string> {
            return absl::StrJoin(target, ",", [](std::string* out, std::uint64_t bytes) {
              out->append(SizeText(bytes));
            });
          }};
}

std::string SizeText(std::uint64_t bytes) {
  std::string unit;
  for (unsigned i = 0; kUnits[i] != '\0' && bytes > 0 && bytes % 1024 == 0; ++i) {
    bytes /= 1024;
    unit = kUnits[i];
  }
  return absl::StrCat(bytes, unit);
}

}  // namespace weir::bench
