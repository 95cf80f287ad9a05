#pragma once

#include "absl/status/statusor.h"
#include "common/membership/session.h"
#include "common/rpc/client.h"
#include "schemas/chief_generated.h"

namespace weir {

/// Asks the chief until it accepts, refuses or the start deadline has passed: what Session::Join
/// does before there is a session, with its errors. A reply that is returned grants a lease, and
/// tells a ps or worker whether weights travel by RDMA.
absl::StatusOr<wire::JoinReplyT> AskToJoin(rpc::ChiefClient& chief, const SessionOptions& options,
                                           bool (*interrupted)());

}  // namespace weir
