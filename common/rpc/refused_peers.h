#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace weir::rpc {

/// Logs gRPC's line about a failed TLS handshake in plain words: each reason once a minute, so that
/// a peer that tries again and again fills no log. (gRPC does not say who it was. A weir that was
/// refused names this process's address, and why.) Any thread.
void LogRefusedPeer(absl::string_view from_grpc);

/// "it does not speak TLS" for "... error:0A00010B:SSL routines::wrong version number."
std::string WhyRefused(absl::string_view from_grpc);

}  // namespace weir::rpc
