#pragma once

#include <string>

namespace weir::rpc {

struct RawReply {
  int code = 0;  ///< grpc::StatusCode
  std::string message;
  std::string bytes;
};

/// Calls `method` ("/package.Service/Method") with arbitrary bytes, through gRPC's generic stub.
RawReply RawCall(const std::string& address, const std::string& method, const std::string& bytes);

}  // namespace weir::rpc
