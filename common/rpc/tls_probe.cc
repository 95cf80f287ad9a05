#include "common/rpc/tls_probe.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <array>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/clock.h"
#include "common/rpc/certificate.h"
#include "common/rpc/tls_wire.h"

namespace weir::rpc {
namespace {

using End = TlsWire::End;

struct HostAndPort {
  std::string host;
  std::string port;
};

HostAndPort Split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {address, ""};
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return {std::move(host), address.substr(colon + 1)};
}

bool IsIpAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

/// As gRPC sets its own up, so that both come to the same end.
SslPtr NewSsl(SSL_CTX* context, const TlsMaterial* own, const std::string& host) {
  SslPtr ssl(SSL_new(context));
  static constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl.get(), kHttp2.data(), kHttp2.size());
  if (!IsIpAddress(host)) SSL_set_tlsext_host_name(ssl.get(), host.c_str());
  if (own == nullptr) return ssl;
  // The peer's certificate is judged all the same; but a handshake that goes on keeps it to be
  // shown.
  SSL_set_verify(ssl.get(), SSL_VERIFY_NONE, nullptr);
  SSL_set1_verify_cert_store(ssl.get(), TrustOnly(ParseCertificates(own->ca)).get());
  X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl.get());
  if (IsIpAddress(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str());
  } else {
    X509_VERIFY_PARAM_set1_host(wanted, host.data(), host.size());
  }
  const std::vector<X509Ptr> chain = ParseCertificates(own->cert);
  SSL_use_certificate(ssl.get(), chain.front().get());
  for (std::size_t i = 1; i < chain.size(); ++i) SSL_add1_chain_cert(ssl.get(), chain[i].get());
  SSL_use_PrivateKey(ssl.get(), ParsePrivateKey(own->key).get());
  return ssl;
}

/// "certificate required" of OpenSSL's "tlsv13 alert certificate required"; empty for other errors.
/// Only what speaks TLS sends an alert.
std::string AlertInQueue() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  constexpr absl::string_view kAlert = " alert ";
  const absl::string_view text = reason == nullptr ? "" : reason;
  const std::size_t start = text.find(kAlert);
  return start == absl::string_view::npos ? "" : std::string(text.substr(start + kAlert.size()));
}

TlsFault PlaintextFault(TlsWire& wire) {
  const End end = wire.Handshake();
  if (end != End::kDone && AlertInQueue().empty()) return {};
  return {"it speaks TLS, and this process does not: give it --tls-cert, --tls-key and --tls-ca",
          true};
}

TlsFault PeersCertificate(SSL* ssl, long error) {
  const X509Ptr certificate(SSL_get1_peer_certificate(ssl));
  return {absl::StrCat("its certificate is not accepted: ", X509_verify_cert_error_string(error),
                       certificate ? absl::StrCat(" (", Describe(*certificate), ")") : ""),
          true};
}

/// The peer ended the connection once it had seen this process's certificate. (A gRPC server sends
/// no alert that would say why.)
TlsFault OwnCertificate(SSL* ssl, const TlsMaterial& own) {
  const std::string alert = AlertInQueue();
  const std::vector<X509Ptr> chain = ParseCertificates(own.cert);
  const std::string which =
      absl::StrCat("this process's certificate (", Describe(*chain.front()), ")");
  if (!alert.empty()) return {absl::StrCat("it does not accept ", which, ": ", alert), true};
  if (HasExpired(*chain.front())) {
    return {absl::StrCat("it does not accept ", which, ": certificate has expired"), true};
  }
  const STACK_OF(X509_NAME)* accepted = SSL_get0_peer_CA_list(ssl);
  const X509_NAME* issuer = X509_get_issuer_name(chain.back().get());
  std::vector<std::string> names;
  bool listed = false;
  for (int i = 0; i < sk_X509_NAME_num(accepted); ++i) {
    const X509_NAME* name = sk_X509_NAME_value(accepted, i);
    listed = listed || X509_NAME_cmp(name, issuer) == 0;
    names.push_back(NameText(name));
  }
  if (!listed && !names.empty()) {
    return {absl::StrCat("it does not accept ", which, ": its --tls-ca is ",
                         absl::StrJoin(names, "; ")),
            true};
  }
  return {absl::StrCat("it closed the connection when it had seen ", which, ": see its log"),
          false};
}

TlsFault FailedHandshake(SSL* ssl, const TlsMaterial& own) {
  if (!AlertInQueue().empty()) return OwnCertificate(ssl, own);
  const unsigned long error = ERR_peek_last_error();
  // OpenSSL's word for bytes that are no TLS record.
  if (ERR_GET_REASON(error) == SSL_R_WRONG_VERSION_NUMBER) {
    return {"it does not speak TLS, and this process was told to (--tls-cert)", true};
  }
  const char* reason = ERR_reason_error_string(error);
  return {absl::StrCat("the TLS handshake failed: ", reason ? reason : "no reason given"), false};
}

TlsFault TlsConnectionFault(TlsWire& wire, const TlsMaterial& own) {
  const End end = wire.Handshake();
  if (const long error = SSL_get_verify_result(wire.ssl()); error != X509_V_OK) {
    return PeersCertificate(wire.ssl(), error);
  }
  if (end == End::kFailed) return FailedHandshake(wire.ssl(), own);
  if (end != End::kDone) return {};
  const End answered = wire.AwaitData();
  if (answered == End::kClosed || answered == End::kFailed) return OwnCertificate(wire.ssl(), own);
  return {};
}

}  // namespace

TlsFault FindTlsFault(const std::string& address, const TlsMaterial* own, absl::Duration timeout) {
  const absl::Cleanup clear = [] { ERR_clear_error(); };
  const auto [host, port] = Split(address);
  const SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  TlsWire wire(NewSsl(context.get(), own, host), MonotonicNow() + timeout);
  if (wire.Connect(host, port) != End::kDone) return {};
  return own == nullptr ? PlaintextFault(wire) : TlsConnectionFault(wire, *own);
}

}  // namespace weir::rpc
