#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "common/rpc/client.h"
#include "tests/unit/rpc/fake_chief.h"
#include "tests/unit/rpc/raw_calls.h"
#include "weir/exit_code.h"

namespace weir::rpc {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr absl::Duration kTimeout = absl::Seconds(10);

class FakeShard : public ShardHandler {
 public:
  absl::StatusOr<wire::ConnectReplyT> Connect(const wire::ConnectRequestT& request) override {
    if (request.worker == 99) return absl::AbortedError("view 3, not 2");
    wire::ConnectReplyT reply;
    reply.accepted = true;
    reply.data_address = request.data_address;
    return reply;
  }
};

std::unique_ptr<ChiefClient> ClientOf(const std::string& address, const std::string& token = "") {
  return ChiefClient::Create({.address = address, .peer = "chief", .token = token});
}

TEST(Calls, JoinAndStatus) {
  FakeChief chief;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  const auto client = ClientOf(AddressOf(*server));
  wire::JoinRequestT request;
  request.role = wire::Role::Ps;
  request.index = 3;
  request.host_id = "here";
  const auto reply = client->Join(request, kTimeout);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->lease_ms, 5000u);
  ASSERT_EQ(chief.joins().size(), 1u);
  EXPECT_EQ(chief.joins()[0].index, 3u);
  EXPECT_EQ(chief.joins()[0].host_id, "here");
  const auto status = client->GetStatus(kTimeout);
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->job, "fake");
}

TEST(Calls, ConnectToAShard) {
  FakeShard shard;
  const auto server = Serve(nullptr, &shard);
  ASSERT_NE(server, nullptr);
  const auto client =
      ShardClient::Create({.address = AddressOf(*server), .peer = "ps 1", .token = ""});
  wire::ConnectRequestT request;
  request.data_address = {1, 2, 3};
  const auto reply = client->Connect(request, kTimeout);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->data_address, request.data_address);
  request.worker = 99;
  const absl::Status aborted = client->Connect(request, kTimeout).status();
  EXPECT_EQ(aborted.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(std::string(aborted.message()),
            absl::StrCat("ps 1 at ", AddressOf(*server), ": view 3, not 2"));
}

TEST(Calls, AnotherRoleAtTheAddressIsSaid) {
  FakeShard shard;
  const auto server = Serve(nullptr, &shard);
  ASSERT_NE(server, nullptr);
  const absl::Status status = ClientOf(AddressOf(*server))->GetStatus(kTimeout).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another role"));
}

TEST(Calls, WithoutTheTokenEveryCallIsRefused) {
  FakeChief chief;
  FakeShard shard;
  const auto server = Serve(&chief, &shard, "right");
  ASSERT_NE(server, nullptr);
  const std::string address = AddressOf(*server);
  for (const std::string token : {"", "wrong"}) {
    const auto client = ClientOf(address, token);
    const auto shard_client =
        ShardClient::Create({.address = address, .peer = "ps 0", .token = token});
    const auto stream = client->OpenSession();
    wire::ChiefMessageT message;
    EXPECT_FALSE(stream->Read(&message));
    for (const absl::Status& status :
         {client->Join({}, kTimeout).status(), client->GetStatus(kTimeout).status(),
          shard_client->Connect({}, kTimeout).status(), stream->Finish()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
      EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(token.empty() ? "token is missing" : "token is wrong"),
                        HasSubstr("set WEIR_TOKEN or --token-file")));
    }
  }
  EXPECT_TRUE(chief.joins().empty());
  EXPECT_TRUE(ClientOf(address, "right")->GetStatus(kTimeout).ok());
}

TEST(Calls, AnyBytesMakeAToken) {
  FakeChief chief;
  const std::string token("\xff t\0ken\n", 8);
  const auto server = Serve(&chief, nullptr, token);
  ASSERT_NE(server, nullptr);
  EXPECT_TRUE(ClientOf(AddressOf(*server), token)->GetStatus(kTimeout).ok());
  EXPECT_FALSE(ClientOf(AddressOf(*server), "\xff t")->GetStatus(kTimeout).ok());
}

TEST(Calls, ATokenNobodyAskedForDoesNoHarm) {
  FakeChief chief;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  EXPECT_TRUE(ClientOf(AddressOf(*server), "extra")->GetStatus(kTimeout).ok());
}

TEST(Calls, HealthNeedsNoTokenAndFollowsServing) {
  FakeChief chief;
  const auto server = Serve(&chief, nullptr, "token");
  ASSERT_NE(server, nullptr);
  const auto check = [&] {
    return RawCall(AddressOf(*server), "/grpc.health.v1.Health/Check", "");
  };
  // HealthCheckResponse.status, field 1: SERVING = 1, NOT_SERVING = 2.
  EXPECT_EQ(check().bytes, "\x08\x02");
  server->SetServing(true);
  const RawReply serving = check();
  EXPECT_EQ(serving.code, 0) << serving.message;
  EXPECT_EQ(serving.bytes, "\x08\x01");
  server->SetServing(false);
  EXPECT_EQ(check().bytes, "\x08\x02");
}

TEST(Calls, NobodyThere) {
  FakeChief chief;
  auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  const std::string address = AddressOf(*server);
  server->Shutdown(absl::ZeroDuration());
  const absl::Status status = ClientOf(address)->GetStatus(kTimeout).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(status.message()),
            absl::StrCat("chief at ", address, ": connection refused"));
}

TEST(Calls, NameThatDoesNotResolve) {
  const absl::Status status =
      ClientOf("no-such-host.invalid:2222")->GetStatus(absl::Seconds(20)).status();
  EXPECT_THAT(status.code(),
              AnyOf(absl::StatusCode::kUnavailable, absl::StatusCode::kDeadlineExceeded))
      << status;
  EXPECT_THAT(std::string(status.message()), StartsWith("chief at no-such-host.invalid:2222: "));
}

TEST(Calls, AClientFindsAServerThatStartsLater) {
  FakeChief chief;
  auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  const int port = server->port();
  const auto client = ClientOf(AddressOf(*server));
  server->Shutdown(absl::ZeroDuration());
  EXPECT_FALSE(client->GetStatus(kTimeout).ok());
  server = Serve(&chief, nullptr, "", port);
  ASSERT_NE(server, nullptr);
  const absl::Time start = MonotonicNow();
  while (!client->GetStatus(kTimeout).ok()) {
    ASSERT_LT(MonotonicNow() - start, absl::Seconds(10));
    std::this_thread::yield();
  }
}

/// Answers GetStatus only after `Open`.
class SlowChief : public FakeChief {
 public:
  absl::StatusOr<wire::StatusReplyT> GetStatus() override {
    MutexLock lock(&mutex_);
    while (!is_open_) opened_.Wait(&mutex_);
    return wire::StatusReplyT();
  }
  void Open() {
    MutexLock lock(&mutex_);
    is_open_ = true;
    opened_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar opened_;
  bool is_open_ = false;
};

TEST(Calls, AUnaryCallEndsAtItsDeadline) {
  SlowChief chief;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  const absl::Time start = MonotonicNow();
  const absl::Status status =
      ClientOf(AddressOf(*server))->GetStatus(absl::Milliseconds(300)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(5));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no answer in time"));
  chief.Open();
}

}  // namespace
}  // namespace weir::rpc
