#include "common/rpc/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace weir::rpc {
namespace {

BioPtr ReadOnly(absl::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// Instead of OpenSSL's own, which asks for a password on the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

absl::Time TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

absl::Status CheckPurpose(const std::vector<X509Ptr>& chain, X509_STORE* store, int purpose) {
  const absl::Cleanup clear = [] { ERR_clear_error(); };
  const X509StoreContextPtr context(X509_STORE_CTX_new());
  STACK_OF(X509)* between = sk_X509_new_null();
  const absl::Cleanup free_stack = [&] { sk_X509_free(between); };
  for (const X509Ptr& certificate : chain) sk_X509_push(between, certificate.get());
  if (X509_STORE_CTX_init(context.get(), store, chain.front().get(), between) != 1 ||
      X509_STORE_CTX_set_purpose(context.get(), purpose) != 1) {
    return absl::UnauthenticatedError("it cannot be verified");
  }
  if (X509_verify_cert(context.get()) == 1) return absl::OkStatus();
  return absl::UnauthenticatedError(
      X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get())));
}

}  // namespace

std::vector<X509Ptr> ParseCertificates(absl::string_view pem) {
  const absl::Cleanup clear = [] { ERR_clear_error(); };
  std::vector<X509Ptr> certificates;
  const BioPtr text = ReadOnly(pem);
  while (X509* next = PEM_read_bio_X509(text.get(), nullptr, &NoPassword, nullptr)) {
    certificates.emplace_back(next);
  }
  // The one good end is that no further block begins: a block that is cut short is another error.
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) certificates.clear();
  return certificates;
}

KeyPtr ParsePrivateKey(absl::string_view pem) {
  const absl::Cleanup clear = [] { ERR_clear_error(); };
  return KeyPtr(PEM_read_bio_PrivateKey(ReadOnly(pem).get(), nullptr, &NoPassword, nullptr));
}

X509StorePtr TrustOnly(const std::vector<X509Ptr>& roots) {
  X509StorePtr store(X509_STORE_new());
  for (const X509Ptr& root : roots) X509_STORE_add_cert(store.get(), root.get());
  return store;
}

absl::Status CheckChain(const std::vector<X509Ptr>& chain, const std::vector<X509Ptr>& roots) {
  const X509StorePtr store = TrustOnly(roots);
  absl::Status status = CheckPurpose(chain, store.get(), X509_PURPOSE_SSL_SERVER);
  if (status.ok()) status = CheckPurpose(chain, store.get(), X509_PURPOSE_SSL_CLIENT);
  return status;
}

std::string NameText(const X509_NAME* name) {
  const BioPtr text(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(text.get(), name, 0, XN_FLAG_ONELINE & ~XN_FLAG_SPC_EQ);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  constexpr std::size_t kLongest = 200;
  const absl::string_view whole(bytes, static_cast<std::size_t>(size));
  return absl::CEscape(whole.substr(0, kLongest));
}

std::string Describe(const X509& certificate) {
  return absl::StrCat(
      NameText(X509_get_subject_name(&certificate)), ", issued by ",
      NameText(X509_get_issuer_name(&certificate)), ", valid until ",
      absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", TimeOf(X509_get0_notAfter(&certificate)),
                       absl::UTCTimeZone()));
}

bool HasExpired(const X509& certificate) {
  return X509_cmp_current_time(X509_get0_notAfter(&certificate)) < 0;
}

}  // namespace weir::rpc
