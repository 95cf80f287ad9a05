#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace weir {

/// What a value is in JSON; on a command line all are text.
enum class ValueKind { kText, kNumber, kSwitch, kAny };

/// How one flag reads its value into a variable and writes it back. Both functions refer to the
/// variable they were made for, which must outlive them.
struct FlagValue {
  /// Sets the variable, or leaves it as it was and returns kInvalidArgument with the value found
  /// and what to write instead (the flag's name is for the caller to add).
  std::function<absl::Status(absl::string_view text)> set;
  /// What `set` would take to arrive at the variable's present value; none when there is no such
  /// text (nothing was chosen) or when it must not stand on a command line (the token).
  std::function<std::optional<std::string>()> show;
  ValueKind kind = ValueKind::kText;
};

/// Whole numbers within a range, decimal.
FlagValue IntegerIn(int& target, int least, int most);
FlagValue IntegerIn(std::uint64_t& target, std::uint64_t least, std::uint64_t most);
FlagValue IntegerIn(std::optional<std::uint64_t>& target, std::uint64_t least, std::uint64_t most);

/// Finite, above 0: "0.1", "1e-3".
FlagValue PositiveNumber(float& target);

/// Plain seconds within a range: "5", "0.5".
FlagValue SecondsIn(absl::Duration& target, double least, double most);

/// Text that is not empty; `check`, where given, judges it further as FlagValue::set does.
FlagValue Text(std::string& target, std::function<absl::Status(const std::string&)> check = {});

/// A flag that stands alone and makes the variable true.
FlagValue Switch(bool& target);

/// A value that this version knows to refuse, of any kind: `set` fails with `judge`'s error.
FlagValue Refused(std::function<absl::Status(absl::string_view)> judge);

}  // namespace weir
