#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "common/rpc/tls_identity.h"

namespace weir::rpc {

/// For connections made with this material; plaintext where it is null.
std::shared_ptr<grpc::ChannelCredentials> ChannelCredentialsOf(const TlsMaterial* material);

/// Asks `identity`, which may be null (plaintext), at each handshake. A client without a
/// certificate that leads to the CA is refused in the handshake, before anything that it sends is
/// read. For one listening port, as it remembers what that was given; keep it until the server is
/// shut down.
std::shared_ptr<grpc::ServerCredentials> ServerCredentialsOf(std::shared_ptr<TlsIdentity> identity);

}  // namespace weir::rpc
