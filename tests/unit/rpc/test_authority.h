#pragma once

#include <filesystem>
#include <string>

#include "absl/time/time.h"
#include "common/rpc/openssl_handles.h"
#include "common/rpc/tls_identity.h"

namespace weir::rpc {

/// What stands in a certificate.
struct CertificateOptions {
  std::string name = "member";
  std::string alternative_names = "DNS:localhost,IP:127.0.0.1";
  std::string extended_usage;  ///< "serverAuth"; empty: for everything
  absl::Duration from_now = -absl::Hours(1);
  absl::Duration until = absl::Hours(1);  ///< from now too
};

struct CertifiedKey {
  std::string certificate;  ///< PEM
  std::string key;          ///< PEM
};

/// A certificate authority that lives as long as a test.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name);
  const std::string& pem() const { return pem_; }
  CertifiedKey Issue(const CertificateOptions& options = {}) const;

 private:
  KeyPtr key_;
  X509Ptr certificate_;
  std::string pem_;
};

/// "-----BEGIN ENCRYPTED PRIVATE KEY-----" of a key in clear.
std::string EncryptedKey(const std::string& key_pem);

/// The three files of one process, in a folder of their own that ends with the test.
class TestTlsFiles {
 public:
  TestTlsFiles(const CertifiedKey& own, const std::string& ca);
  ~TestTlsFiles();
  TestTlsFiles(const TestTlsFiles&) = delete;
  TestTlsFiles& operator=(const TestTlsFiles&) = delete;

  const TlsFiles& files() const { return files_; }
  /// Each by rename, as a careful operator does.
  void Replace(const CertifiedKey& own, const std::string& ca) const;
  static void Write(const std::string& file, const std::string& text);

 private:
  std::filesystem::path folder_;
  TlsFiles files_;
};

}  // namespace weir::rpc
