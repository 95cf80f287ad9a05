#pragma once

#include "absl/status/status.h"
#include "chief/logic/member_id.h"
#include "common/base/ids.h"
#include "schemas/chief_generated.h"

namespace weir::chief {

/// What a member may claim at most.
struct MessageLimits {
  Step last_step;   ///< no step lies beyond
  ViewNumber view;  ///< the newest
  std::uint32_t ps_threads = 1;
};

/// Checks every value of a verified message: that a member of this role sends such a message, and
/// that steps, indices, sizes and texts are in range. kInvalidArgument says what is not: such a
/// message cannot come from a correct member.
absl::Status CheckMessage(wire::Role from, const wire::MemberMessageT& message,
                          const MessageLimits& limits);

/// Cuts a peer's text to one line of a length fit for a log.
std::string ForLog(const std::string& text);

}  // namespace weir::chief
