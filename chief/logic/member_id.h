#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/ids.h"
#include "schemas/chief_generated.h"

namespace weir::chief {

/// One life of one Session stream, numbered by the shell: a late event of a member's earlier
/// stream never touches its next one.
using SessionId = StrongId<struct SessionIdTag, std::uint64_t>;

/// "chief", "worker", "ps", "evaluator".
absl::string_view RoleText(wire::Role role);

/// One task of the cluster, as members name themselves.
struct MemberId {
  wire::Role role = wire::Role::Worker;
  std::uint32_t index = 0;
  friend auto operator<=>(const MemberId&, const MemberId&) = default;
  std::string ToString() const;  ///< "ps 0"
};

}  // namespace weir::chief
