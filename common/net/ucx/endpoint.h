#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/net/transport.h"

namespace weir::net {

class UcxTransport;
struct SendOperation;

/// One peer: connecting, up, maybe down, then closing until its last send was called back.
///
/// While connecting, sends wait here rather than in UCX: with data in front of UCX's own messages
/// of the connection, UCX 1.13 aborts when the peer dies.
struct UcxEndpoint {
  enum class State { kConnecting, kUp, kDown, kClosing };

  PeerId id;
  std::string name;
  UcxTransport* transport = nullptr;
  ucp_ep_h handle = nullptr;  // null: UCX could not create it, or it is closed
  State state = State::kConnecting;
  absl::Status failure;                 // why it is down
  std::vector<SendOperation*> waiting;  // for the connection
  std::size_t sends_under_way = 0;
  bool connect_under_way = false;
  bool close_under_way = false;
};

}  // namespace weir::net
