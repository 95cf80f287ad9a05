#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/net/transport.h"

namespace weir::net {

class UcxTransport;
struct SendOperation;
struct GetOperation;

/// One peer: connecting, up and now and then full, maybe down, then closing until its last send was
/// called back.
///
/// Sends wait here rather than in UCX while it connects and, over tcp, while it is full
/// (UcxTransport::StartSend).
struct UcxEndpoint {
  enum class State { kConnecting, kUp, kFull, kDown, kClosing };

  PeerId id;
  std::string name;
  UcxTransport* transport = nullptr;
  ucp_ep_h handle = nullptr;  // null: UCX could not create it, or it is closed
  State state = State::kConnecting;
  absl::Status failure;                     // why it is down
  std::vector<SendOperation*> waiting;      // while connecting or full
  std::vector<GetOperation*> waiting_gets;  // while connecting
  std::vector<SendOperation*> batch;        // to leave together; empty unless it is up
  std::size_t batch_bytes = 0;
  bool batching = false;  // among those whose batches Progress starts
  std::size_t sends_under_way = 0;
  std::size_t gets_under_way = 0;
  bool flush_under_way = false;
  bool close_under_way = false;
  absl::Time wire_up_until = absl::InfinitePast();  // closing waits so long for kRdma's flush
};

}  // namespace weir::net
