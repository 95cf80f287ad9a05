#include "common/rpc/token.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace weir::rpc {
namespace {

constexpr absl::string_view kHexPrefix = "hex:";

bool SameInConstantTime(absl::string_view expected, absl::string_view given) {
  // Over the length of what was given, which the caller knows anyway.
  volatile unsigned char differing = expected.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char byte = expected[i % expected.size()];
    differing = static_cast<unsigned char>(differing | static_cast<unsigned char>(byte ^ given[i]));
  }
  return differing == 0;
}

absl::Status Unauthenticated(absl::string_view problem) {
  return absl::UnauthenticatedError(
      absl::StrCat("the cluster token is ", problem,
                   ": set WEIR_TOKEN or --token-file to the same value in every role"));
}

}  // namespace

std::string TokenOnTheWire(absl::string_view token) {
  const bool plain =
      std::all_of(token.begin(), token.end(), [](char c) { return absl::ascii_isgraph(c); }) &&
      token.substr(0, kHexPrefix.size()) != kHexPrefix;
  if (plain) return std::string(token);
  return absl::StrCat(kHexPrefix, absl::BytesToHexString(token));
}

absl::Status CheckToken(absl::string_view expected, const absl::string_view* given) {
  if (expected.empty()) return absl::OkStatus();
  if (given == nullptr) return Unauthenticated("missing");
  if (!SameInConstantTime(expected, *given)) return Unauthenticated("wrong");
  return absl::OkStatus();
}

}  // namespace weir::rpc
