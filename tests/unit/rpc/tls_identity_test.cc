#include "common/rpc/tls_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <ostream>

#include "common/rpc/refused_peers.h"
#include "tests/unit/rpc/test_authority.h"
#include "weir/exit_code.h"

namespace weir::rpc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

absl::Status LoadError(const TlsFiles& files) {
  const absl::Status status = TlsIdentity::Load(files).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
  return status;
}

TEST(TlsIdentity, NoFilesAreNoTls) {
  const auto identity = TlsIdentity::Load({});
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(*identity, nullptr);
}

TEST(TlsIdentity, EachMissingFileIsNamed) {
  EXPECT_THAT(std::string(LoadError({.cert = "c", .key = "k"}).message()),
              StartsWith("--tls-ca is missing: "));
  EXPECT_THAT(std::string(LoadError({.ca = "a"}).message()),
              StartsWith("--tls-cert, --tls-key are missing: "));
  EXPECT_THAT(std::string(LoadError({.cert = "c", .ca = "a"}).message()),
              StartsWith("--tls-key is missing: "));
}

/// Three files that were good until `spoil` came.
struct Spoilt {
  std::string name;
  std::function<void(const TlsFiles&)> spoil;
  std::string flag;    ///< of the file that is named
  std::string reason;  ///< why
};
void PrintTo(const Spoilt& spoilt, std::ostream* out) { *out << spoilt.name; }

void Cut(const std::string& file) {
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
}

CertifiedKey Issue(const CertificateOptions& options) {
  static const TestAuthority authority("cluster-ca");
  return authority.Issue(options);
}

std::function<void(const TlsFiles&)> WithFreshAuthority(const CertificateOptions& options) {
  return [options](const TlsFiles& files) {
    const TestAuthority authority("cluster-ca");
    const CertifiedKey own = authority.Issue(options);
    TestTlsFiles::Write(files.cert, own.certificate);
    TestTlsFiles::Write(files.key, own.key);
    TestTlsFiles::Write(files.ca, authority.pem());
  };
}

std::vector<Spoilt> AllSpoilt() {
  return {
      {"NoCertificate", [](auto& f) { std::filesystem::remove(f.cert); }, "--tls-cert",
       "cannot be read: No such file"},
      {"NoKey", [](auto& f) { std::filesystem::remove(f.key); }, "--tls-key", "cannot be read"},
      {"NoCa", [](auto& f) { std::filesystem::remove(f.ca); }, "--tls-ca", "cannot be read"},
      {"HalfACertificate", [](auto& f) { Cut(f.cert); }, "--tls-cert", "no whole PEM certificate"},
      {"HalfAKey", [](auto& f) { Cut(f.key); }, "--tls-key", "no whole PEM private key"},
      {"HalfACa", [](auto& f) { Cut(f.ca); }, "--tls-ca", "no whole PEM certificate"},
      {"NoPem", [](auto& f) { TestTlsFiles::Write(f.cert, "certificate"); }, "--tls-cert",
       "no whole PEM certificate"},
      {"EncryptedKey", [](auto& f) { TestTlsFiles::Write(f.key, EncryptedKey(Issue({}).key)); },
       "--tls-key", "is encrypted"},
      {"AnotherKey", [](auto& f) { TestTlsFiles::Write(f.key, Issue({}).key); }, "--tls-key",
       "is not the key of the certificate"},
      {"AnotherCa", [](auto& f) { TestTlsFiles::Write(f.ca, TestAuthority("other-ca").pem()); },
       "--tls-cert", "unable to get local issuer certificate (CN=member, issued by CN=cluster-ca"},
      {"Expired", WithFreshAuthority({.until = -absl::Minutes(1)}), "--tls-cert",
       "certificate has expired"},
      {"NotYetValid", WithFreshAuthority({.from_now = absl::Minutes(30)}), "--tls-cert",
       "certificate is not yet valid"},
      {"ForServersOnly", WithFreshAuthority({.extended_usage = "serverAuth"}), "--tls-cert",
       "unsuitable certificate purpose"},
      {"ForClientsOnly", WithFreshAuthority({.extended_usage = "clientAuth"}), "--tls-cert",
       "unsuitable certificate purpose"},
  };
}

class SpoiltFiles : public ::testing::TestWithParam<Spoilt> {
 protected:
  const TestAuthority authority_{"cluster-ca"};
  const TestTlsFiles folder_{authority_.Issue(), authority_.pem()};
};

TEST_P(SpoiltFiles, AreRefusedAtTheStartByName) {
  const TlsFiles& files = folder_.files();
  ASSERT_TRUE(TlsIdentity::Load(files).ok());
  GetParam().spoil(files);
  const std::string& file = GetParam().flag == "--tls-cert"  ? files.cert
                            : GetParam().flag == "--tls-key" ? files.key
                                                             : files.ca;
  EXPECT_THAT(std::string(LoadError(files).message()),
              AllOf(StartsWith(GetParam().flag + " " + file + ": "), HasSubstr(GetParam().reason)));
}

TEST_P(SpoiltFiles, LeaveWhatIsInUse) {
  const auto identity = *TlsIdentity::Load(folder_.files());
  const auto before = identity->Current();
  GetParam().spoil(folder_.files());
  EXPECT_EQ(identity->Current(), before);
  const CertifiedKey renewed = authority_.Issue();
  folder_.Replace(renewed, authority_.pem());
  EXPECT_EQ(identity->Current()->cert, renewed.certificate);
}

INSTANTIATE_TEST_SUITE_P(Tls, SpoiltFiles, ::testing::ValuesIn(AllSpoilt()),
                         [](const auto& info) { return info.param.name; });

TEST(TlsIdentity, TheSameFilesAreTheSameMaterial) {
  const TestAuthority authority("cluster-ca");
  const TestTlsFiles folder(authority.Issue(), authority.pem());
  const auto identity = *TlsIdentity::Load(folder.files());
  EXPECT_EQ(identity->Current(), identity->Current());
}

TEST(TlsIdentity, AnIntermediateMayStandBehindTheCertificate) {
  const TestAuthority authority("cluster-ca");
  CertifiedKey own = authority.Issue();
  own.certificate += authority.pem();
  const TestTlsFiles folder(own, TestAuthority("unrelated").pem() + authority.pem());
  EXPECT_TRUE(TlsIdentity::Load(folder.files()).ok());
}

TEST(RefusedPeers, AreExplained) {
  const std::string start =
      "Handshake failed with fatal error SSL_ERROR_SSL: error:0A:SSL routines::";
  EXPECT_THAT(WhyRefused(start + "certificate verify failed."), HasSubstr("is not accepted"));
  EXPECT_EQ(WhyRefused(start + "peer did not return a certificate."), "it showed no certificate");
  EXPECT_EQ(WhyRefused(start + "wrong version number."), "it does not speak TLS");
  EXPECT_EQ(WhyRefused(start + "http request."), "it does not speak TLS");
  EXPECT_EQ(WhyRefused(start + "tlsv1 alert unknown ca."),
            "it does not accept this process's certificate: unknown ca");
  EXPECT_EQ(WhyRefused(start + "no shared cipher."), "no shared cipher");
}

}  // namespace
}  // namespace weir::rpc
