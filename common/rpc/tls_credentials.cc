#include "common/rpc/tls_credentials.h"

#include <grpc/grpc_security.h>

#include <utility>

#include "common/base/mutex.h"

namespace weir::rpc {
namespace {

/// gRPC's C++ interface offers either certificates that never change or files that it reads on its
/// own, every few seconds and unchecked: half a file would replace a good one. Its C interface
/// asks, at each handshake, whether there is something new; this makes that one usable from C++.
class ReloadingServerCredentials final : public grpc::ServerCredentials {
 public:
  explicit ReloadingServerCredentials(std::shared_ptr<TlsIdentity> identity)
      : identity_(std::move(identity)),
        credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, &Fetch, this))) {}
  ~ReloadingServerCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<ReloadingServerCredentials*>(self)->FetchFor(config);
  }

  grpc_ssl_certificate_config_reload_status FetchFor(grpc_ssl_server_certificate_config** config) {
    const std::shared_ptr<const TlsMaterial> now = identity_->Current();
    MutexLock lock(&mutex_);
    if (now == given_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair{now->key.c_str(), now->cert.c_str()};
    *config = grpc_ssl_server_certificate_config_create(now->ca.c_str(), &pair, 1);
    given_ = now;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::shared_ptr<TlsIdentity> identity_;
  grpc_server_credentials* const credentials_;
  Mutex mutex_;
  std::shared_ptr<const TlsMaterial> given_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentialsOf(const TlsMaterial* material) {
  if (material == nullptr) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = material->ca;
  options.pem_private_key = material->key;
  options.pem_cert_chain = material->cert;
  return grpc::SslCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> ServerCredentialsOf(
    std::shared_ptr<TlsIdentity> identity) {
  if (identity == nullptr) return grpc::InsecureServerCredentials();
  return std::make_shared<ReloadingServerCredentials>(std::move(identity));
}

}  // namespace weir::rpc
