#include "common/config/flag_value.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/config/mistakes.h"

namespace weir {
namespace {

// The whole of `text` as a T; std::from_chars knows no locale, no blanks and no "+".
template <typename T, typename... Format>
std::errc Read(absl::string_view text, T& value, Format... format) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, format...);
  return error == std::errc() && stop != end ? std::errc::invalid_argument : error;
}

template <typename T, typename... Format>
std::string Write(T value, Format... format) {
  char text[512];  // the longest is a double in plain decimals
  const auto [end, error] = std::to_chars(text, text + sizeof text, value, format...);
  return error == std::errc() ? std::string(text, end) : std::string();
}

bool IsWholeNumber(absl::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  if (text.empty()) return false;
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

template <typename T>
absl::Status ReadInteger(absl::string_view text, T least, T most, T& target) {
  T value{};
  const std::errc error = Read(text, value);
  if (error == std::errc() && value >= least && value <= most) {
    target = value;
    return absl::OkStatus();
  }
  if (IsWholeNumber(text))
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(text), " is not in ", least, "..", most));
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(text), " is not a whole number; write one in ", least, "..", most));
}

template <typename T>
FlagValue IntegerRow(T& target, T least, T most) {
  return {[&target, least, most](absl::string_view text) {
            return ReadInteger(text, least, most, target);
          },
          [&target] { return absl::StrCat(target); }, ValueKind::kNumber};
}

}  // namespace

FlagValue IntegerIn(int& target, int least, int most) { return IntegerRow(target, least, most); }

FlagValue IntegerIn(std::uint64_t& target, std::uint64_t least, std::uint64_t most) {
  return IntegerRow(target, least, most);
}

FlagValue IntegerIn(std::optional<std::uint64_t>& target, std::uint64_t least, std::uint64_t most) {
  return {[&target, least, most](absl::string_view text) {
            std::uint64_t value = 0;
            absl::Status status = ReadInteger(text, least, most, value);
            if (status.ok()) target = value;
            return status;
          },
          [&target]() -> std::optional<std::string> {
            if (!target.has_value()) return std::nullopt;
            return absl::StrCat(*target);
          },
          ValueKind::kNumber};
}

FlagValue PositiveNumber(float& target) {
  return {[&target](absl::string_view text) {
            float value = 0;
            if (Read(text, value) != std::errc() || !std::isfinite(value) || value <= 0)
              return absl::InvalidArgumentError(
                  absl::StrCat(Quoted(text), " is not a number above 0, such as 0.1"));
            target = value;
            return absl::OkStatus();
          },
          [&target] { return Write(target); }, ValueKind::kNumber};
}

FlagValue SecondsIn(absl::Duration& target, double least, double most) {
  const std::string range = absl::StrCat(Write(least, std::chars_format::fixed), "..",
                                         Write(most, std::chars_format::fixed));
  return {[&target, least, most, range](absl::string_view text) {
            double value = 0;
            if (Read(text, value, std::chars_format::fixed) != std::errc() || !std::isfinite(value))
              return absl::InvalidArgumentError(
                  absl::StrCat(Quoted(text), " is not a number of seconds; write one in ", range));
            if (value < least || value > most)
              return absl::InvalidArgumentError(
                  absl::StrCat(Printable(text), " is not in ", range, " seconds"));
            target = absl::Seconds(value);
            return absl::OkStatus();
          },
          [&target] { return Write(absl::ToDoubleSeconds(target), std::chars_format::fixed); },
          ValueKind::kNumber};
}

FlagValue Text(std::string& target, std::function<absl::Status(const std::string&)> check) {
  return {[&target, check = std::move(check)](absl::string_view text) {
            if (text.empty()) return absl::InvalidArgumentError("is empty");
            std::string value(text);
            if (check) {
              if (absl::Status status = check(value); !status.ok()) return status;
            }
            target = std::move(value);
            return absl::OkStatus();
          },
          [&target]() -> std::optional<std::string> {
            if (target.empty()) return std::nullopt;
            return target;
          }};
}

FlagValue Switch(bool& target) {
  return {[&target](absl::string_view) {
            target = true;
            return absl::OkStatus();
          },
          [&target]() -> std::optional<std::string> {
            if (!target) return std::nullopt;
            return "";
          },
          ValueKind::kSwitch};
}

FlagValue Refused(std::function<absl::Status(absl::string_view)> judge) {
  return {std::move(judge), []() -> std::optional<std::string> { return std::nullopt; },
          ValueKind::kAny};
}

}  // namespace weir
