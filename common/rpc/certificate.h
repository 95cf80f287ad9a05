#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/rpc/openssl_handles.h"

namespace weir::rpc {

/// Every certificate of a PEM text, in its order; none where a part of it cannot be read.
std::vector<X509Ptr> ParseCertificates(absl::string_view pem);

/// The private key of a PEM text; null where there is none, or it is encrypted.
KeyPtr ParsePrivateKey(absl::string_view pem);

/// What verification starts from: these certificates alone, not the system's.
X509StorePtr TrustOnly(const std::vector<X509Ptr>& roots);

/// Whether `chain` (its first: whose it is) may serve as a server's and as a client's certificate
/// where only `roots` are trusted. Errors: kUnauthenticated with OpenSSL's reason.
absl::Status CheckChain(const std::vector<X509Ptr>& chain, const std::vector<X509Ptr>& roots);

/// "CN=ps-1, issued by CN=cluster-ca, valid until 2026-12-01 08:32:37 UTC"; printable whatever is
/// in it.
std::string Describe(const X509& certificate);
/// "CN=cluster-ca".
std::string NameText(const X509_NAME* name);

/// Whether its time is over, by this machine's clock.
bool HasExpired(const X509& certificate);

}  // namespace weir::rpc
