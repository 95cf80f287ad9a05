#include "common/config/token.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/config/mistakes.h"
#include "common/config/small_file.h"

namespace weir {
namespace {

constexpr std::size_t kMaxToken = 1024;

absl::Status CheckToken(const std::string& token) {
  if (token.size() > kMaxToken)
    return absl::InvalidArgumentError(absl::StrCat("is longer than ", kMaxToken, " bytes"));
  if (!std::all_of(token.begin(), token.end(),
                   [](unsigned char c) { return absl::ascii_isgraph(c); }))
    return absl::InvalidArgumentError("has a byte that is not printable ASCII (no blanks either)");
  return absl::OkStatus();
}

std::string WithoutNewline(std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (!text.empty() && text.back() == '\r') text.pop_back();
  return text;
}

// `what` names the place in front of CheckToken's words.
absl::StatusOr<std::string> Checked(std::string token, const std::string& what) {
  const absl::Status status = CheckToken(token);
  if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(what, " ", status.message()));
  return token;
}

}  // namespace

absl::StatusOr<std::string> ReadTokenFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadSmallFile(path, kMaxToken + 2);
  if (!text.ok())
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(path), " cannot be read: ", text.status().message()));
  std::string token = WithoutNewline(*std::move(text));
  if (token.empty())
    return absl::InvalidArgumentError(absl::StrCat(Quoted(path), " is empty; write a token to it"));
  return Checked(std::move(token), absl::StrCat("the token in ", Quoted(path)));
}

absl::StatusOr<std::string> TokenOf(const Environment& environment) {
  const std::optional<std::string> token = environment(kTokenVariable);
  if (!token.has_value()) return std::string();
  if (token->empty())
    return absl::InvalidArgumentError("is set and empty; unset it, or give it a token");
  return Checked(*token, "the token");
}

}  // namespace weir
