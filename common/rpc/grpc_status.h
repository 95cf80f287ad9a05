#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weir::rpc {

absl::StatusCode FromGrpcCode(grpc::StatusCode code);
grpc::StatusCode ToGrpcCode(absl::StatusCode code);

/// For a handler's answer: code and message; payloads (exit codes) stay behind.
grpc::Status ToGrpc(const absl::Status& status);

/// An error of a call to `peer` ("ps 1") at `address`, both named in front of the reason. With exit
/// code 2 where the peer refuses this process for good (token, version), else with none.
absl::Status FromGrpc(const grpc::Status& status, absl::string_view peer,
                      absl::string_view address);

/// Whether a connection ended as it does when the two ends disagree about TLS (and when the peer
/// was killed: gRPC does not tell).
bool MayBeTls(const grpc::Status& status);

/// gRPC's explanation in a few words: "connection refused", "the name does not resolve", ...
std::string ShortReason(const grpc::Status& status);

}  // namespace weir::rpc
