// Real handshakes on loopback, with certificates made here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rpc/client.h"
#include "tests/unit/rpc/fake_chief.h"
#include "tests/unit/rpc/raw_calls.h"
#include "tests/unit/rpc/test_authority.h"
#include "weir/exit_code.h"

namespace weir::rpc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr absl::Duration kTimeout = absl::Seconds(10);

/// A process with files of its own.
struct Member {
  explicit Member(const TestAuthority& authority, const CertificateOptions& options = {})
      : Member(authority.Issue(options), authority.pem()) {}
  Member(const CertifiedKey& own, const std::string& ca)
      : folder(own, ca), tls(*TlsIdentity::Load(folder.files())) {}
  const TestTlsFiles folder;
  const std::shared_ptr<TlsIdentity> tls;
};

class Tls : public ::testing::Test {
 protected:
  void Serve(std::shared_ptr<TlsIdentity> tls) {
    server_ = rpc::Serve(&chief_, nullptr, "", 0, std::move(tls));
    ASSERT_NE(server_, nullptr);
  }
  std::unique_ptr<ChiefClient> ClientOf(std::shared_ptr<TlsIdentity> tls,
                                        const std::string& host = "127.0.0.1") {
    address_ = absl::StrCat(host, ":", server_->port());
    return ChiefClient::Create(
        {.address = address_, .peer = "chief", .token = "", .tls = std::move(tls)});
  }
  /// A call that must be refused for good, at once; its text.
  std::string Refusal(std::shared_ptr<TlsIdentity> tls, const std::string& host = "127.0.0.1") {
    const auto client = ClientOf(std::move(tls), host);
    const absl::Time start = MonotonicNow();
    const absl::Status status = client->GetStatus(kTimeout).status();
    EXPECT_LT(MonotonicNow() - start, absl::Seconds(5));
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
    EXPECT_THAT(std::string(status.message()),
                StartsWith(absl::StrCat("chief at ", address_, ": ")));
    return std::string(status.message());
  }
  /// Calls until one fails; its error.
  absl::Status FirstFailure(const std::shared_ptr<TlsIdentity>& tls) {
    const absl::Time give_up = MonotonicNow() + absl::Seconds(20);
    while (MonotonicNow() < give_up) {
      const absl::Status status = ClientOf(tls)->GetStatus(kTimeout).status();
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  FakeChief chief_;
  std::unique_ptr<Server> server_;
  std::string address_;
  const TestAuthority authority_{"cluster-ca"};
  const TestAuthority other_{"other-ca"};
};

TEST_F(Tls, CallsAndSessions) {
  const Member chief(authority_);
  const Member member(authority_);
  Serve(chief.tls);
  for (const std::string host : {"127.0.0.1", "localhost"}) {
    const auto client = ClientOf(member.tls, host);
    EXPECT_TRUE(client->GetStatus(kTimeout).ok());
    const auto stream = client->OpenSession();
    wire::MemberMessageT heartbeat;
    heartbeat.body = BodyOf<wire::MemberBodyUnion>(wire::HeartbeatT());
    wire::ChiefMessageT lease;
    EXPECT_TRUE(stream->Write(heartbeat));
    EXPECT_TRUE(stream->Read(&lease));
    stream->Cancel();
  }
}

TEST_F(Tls, TheTokenIsStillAskedFor) {
  const Member member(authority_);
  server_ = rpc::Serve(&chief_, nullptr, "right", 0, member.tls);
  ASSERT_NE(server_, nullptr);
  EXPECT_THAT(Refusal(member.tls), HasSubstr("token is missing"));
}

TEST_F(Tls, AServerOfAnotherCaIsRefused) {
  const Member chief(other_);
  const Member member(authority_);
  Serve(chief.tls);
  EXPECT_THAT(
      Refusal(member.tls),
      AllOf(HasSubstr("its certificate is not accepted: self-signed certificate in certificate"),
            HasSubstr("CN=member, issued by CN=other-ca")));
}

TEST_F(Tls, AClientOfAnotherCaIsRefused) {
  const Member chief(authority_);
  const Member member(other_.Issue({.name = "worker-3"}), authority_.pem() + other_.pem());
  Serve(chief.tls);
  EXPECT_THAT(Refusal(member.tls), AllOf(HasSubstr("it does not accept this process's certificate"),
                                         HasSubstr("CN=worker-3, issued by CN=other-ca"),
                                         HasSubstr("its --tls-ca is CN=cluster-ca")));
}

TEST_F(Tls, AServerWithAnotherNameIsRefused) {
  const Member chief(authority_, {.alternative_names = "DNS:elsewhere.example"});
  const Member member(authority_);
  Serve(chief.tls);
  EXPECT_THAT(Refusal(member.tls),
              HasSubstr("its certificate is not accepted: IP address mismatch"));
  EXPECT_THAT(Refusal(member.tls, "localhost"),
              HasSubstr("its certificate is not accepted: hostname mismatch"));
}

TEST_F(Tls, AnExpiredServerIsRefused) {
  const Member chief(authority_, {.until = absl::Seconds(3)});
  const Member member(authority_);
  Serve(chief.tls);
  EXPECT_THAT(std::string(FirstFailure(member.tls).message()),
              HasSubstr("its certificate is not accepted: certificate has expired (CN=member"));
}

TEST_F(Tls, AnExpiredClientIsRefused) {
  const Member chief(authority_);
  const Member member(authority_, {.until = absl::Seconds(3)});
  Serve(chief.tls);
  EXPECT_THAT(std::string(FirstFailure(member.tls).message()),
              AllOf(HasSubstr("it does not accept this process's certificate"),
                    HasSubstr("certificate has expired")));
}

TEST_F(Tls, AClientWithoutACertificateCannotEvenAskForHealth) {
  const Member chief(authority_);
  Serve(chief.tls);
  server_->SetServing(true);
  const std::string localhost = absl::StrCat("localhost:", server_->port());
  const RawReply reply = RawCall(localhost, "/grpc.health.v1.Health/Check", "", authority_.pem());
  EXPECT_EQ(reply.code, static_cast<int>(absl::StatusCode::kUnavailable)) << reply.message;
}

TEST_F(Tls, APlaintextServerIsNamed) {
  const Member member(authority_);
  Serve(nullptr);
  EXPECT_THAT(Refusal(member.tls), HasSubstr("it does not speak TLS"));
}

TEST_F(Tls, APlaintextClientIsToldWhatItLacks) {
  const Member chief(authority_);
  Serve(chief.tls);
  EXPECT_THAT(Refusal(nullptr), HasSubstr("it speaks TLS, and this process does not: give it"));
}

TEST_F(Tls, ADeadServerIsNoMatterOfTls) {
  const Member member(authority_);
  Serve(member.tls);
  const auto client = ClientOf(member.tls);
  EXPECT_TRUE(client->GetStatus(kTimeout).ok());
  server_->Shutdown(absl::ZeroDuration());
  const absl::Status status = client->GetStatus(kTimeout).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

class RenewedTls : public Tls {
 protected:
  RenewedTls() { Serve(chief_member_.tls); }
  static wire::MemberMessageT Heartbeat() {
    wire::MemberMessageT heartbeat;
    heartbeat.body = BodyOf<wire::MemberBodyUnion>(wire::HeartbeatT());
    return heartbeat;
  }
  static bool RenewsLease(ChiefStream& stream) {
    wire::ChiefMessageT lease;
    return stream.Write(Heartbeat()) && stream.Read(&lease);
  }
  const Member chief_member_{authority_};
  const Member member_{authority_};
};

TEST_F(RenewedTls, NewConnectionsUseItAndOpenOnesStay) {
  const auto old_client = ClientOf(member_.tls);
  const auto session = old_client->OpenSession();
  ASSERT_TRUE(RenewsLease(*session));
  // To another CA altogether, so that it shows which certificate a connection uses.
  chief_member_.folder.Replace(other_.Issue(), other_.pem());
  EXPECT_THAT(Refusal(member_.tls), HasSubstr("issued by CN=other-ca"));
  member_.folder.Replace(other_.Issue(), other_.pem());
  EXPECT_TRUE(ClientOf(member_.tls)->GetStatus(kTimeout).ok());
  EXPECT_TRUE(old_client->GetStatus(kTimeout).ok()) << "it dials anew";
  EXPECT_TRUE(RenewsLease(*session)) << "the session goes on over its first connection";
  session->Cancel();
}

TEST_F(RenewedTls, HalfAFileIsNotTaken) {
  const CertifiedKey renewed = authority_.Issue();
  const std::string& cert = chief_member_.folder.files().cert;
  TestTlsFiles::Write(cert, renewed.certificate.substr(0, renewed.certificate.size() / 2));
  EXPECT_TRUE(ClientOf(member_.tls)->GetStatus(kTimeout).ok());
  TestTlsFiles::Write(cert, renewed.certificate);  // the key does not fit yet
  EXPECT_TRUE(ClientOf(member_.tls)->GetStatus(kTimeout).ok());
  EXPECT_NE(chief_member_.tls->Current()->cert, renewed.certificate);
  TestTlsFiles::Write(chief_member_.folder.files().key, renewed.key);
  EXPECT_TRUE(ClientOf(member_.tls)->GetStatus(kTimeout).ok());
  EXPECT_EQ(chief_member_.tls->Current()->cert, renewed.certificate);
}

}  // namespace
}  // namespace weir::rpc
