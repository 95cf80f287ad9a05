#pragma once

#include <string>

namespace weir::rpc {

struct RawReply {
  int code = 0;  ///< grpc::StatusCode
  std::string message;
  std::string bytes;
};

/// Calls `method` ("/package.Service/Method") with arbitrary bytes, through gRPC's generic stub.
/// Over TLS where `ca` is given, which servers are then checked against; shows no certificate.
RawReply RawCall(const std::string& address, const std::string& method, const std::string& bytes,
                 const std::string& ca = "");

}  // namespace weir::rpc
