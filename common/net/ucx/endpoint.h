#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "common/net/transport.h"

namespace weir::net {

class UcxTransport;

/// One peer: up, then maybe down, then closing until its last send was called back.
struct UcxEndpoint {
  enum class State { kUp, kDown, kClosing };

  PeerId id;
  std::string name;
  UcxTransport* transport = nullptr;
  ucp_ep_h handle = nullptr;  // null: UCX could not create it, or it is closed
  State state = State::kUp;
  absl::Status failure;  // why it is down
  std::size_t sends_under_way = 0;
  bool close_under_way = false;
};

}  // namespace weir::net
