#include "tests/unit/rpc/test_authority.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace weir::rpc {
namespace {

template <typename Write>
std::string ToPem(Write write) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  write(bio.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return std::string(bytes, static_cast<std::size_t>(size));
}

std::string PemOf(X509* certificate) {
  return ToPem([&](BIO* out) { PEM_write_bio_X509(out, certificate); });
}

void AddExtension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509Ptr Unsigned(const std::string& name, EVP_PKEY* key, absl::Duration from,
                 absl::Duration until) {
  static long serial = 0;
  X509Ptr certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), absl::ToInt64Seconds(from));
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), absl::ToInt64Seconds(until));
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name) : key_(EVP_EC_gen("P-256")) {
  certificate_ = Unsigned(name, key_.get(), -absl::Hours(2), absl::Hours(2));
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
  AddExtension(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate_.get(), key_.get(), EVP_sha256());
  pem_ = PemOf(certificate_.get());
}

CertifiedKey TestAuthority::Issue(const CertificateOptions& options) const {
  const KeyPtr key(EVP_EC_gen("P-256"));
  const X509Ptr certificate = Unsigned(options.name, key.get(), options.from_now, options.until);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get()));
  AddExtension(certificate.get(), NID_subject_alt_name, options.alternative_names);
  if (!options.extended_usage.empty()) {
    AddExtension(certificate.get(), NID_ext_key_usage, options.extended_usage);
  }
  X509_sign(certificate.get(), key_.get(), EVP_sha256());
  return {PemOf(certificate.get()), ToPem([&](BIO* out) {
            PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

std::string EncryptedKey(const std::string& key_pem) {
  const BioPtr in(BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())));
  const KeyPtr key(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  char password[] = "password";
  return ToPem([&](BIO* out) {
    PEM_write_bio_PKCS8PrivateKey(out, key.get(), EVP_aes_256_cbc(), password, 8, nullptr, nullptr);
  });
}

TestTlsFiles::TestTlsFiles(const CertifiedKey& own, const std::string& ca) {
  std::string pattern = ::testing::TempDir() + "/weir-tls-XXXXXX";
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  folder_ = pattern;
  files_ = {folder_ / "cert.pem", folder_ / "key.pem", folder_ / "ca.pem"};
  Replace(own, ca);
}

TestTlsFiles::~TestTlsFiles() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TestTlsFiles::Replace(const CertifiedKey& own, const std::string& ca) const {
  for (const auto& [file, text] :
       {std::pair(&files_.cert, &own.certificate), {&files_.key, &own.key}, {&files_.ca, &ca}}) {
    const std::string next = absl::StrCat(*file, ".next");
    Write(next, *text);
    std::filesystem::permissions(
        next, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::filesystem::rename(next, *file);
  }
}

void TestTlsFiles::Write(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace weir::rpc
