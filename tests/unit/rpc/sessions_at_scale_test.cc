#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "common/rpc/client.h"
#include "tests/unit/rpc/fake_chief.h"

namespace weir::rpc {
namespace {

constexpr int kMembers = 64;

struct OpenMember {
  std::unique_ptr<ChiefClient> client;
  std::unique_ptr<ChiefStream> stream;
};

wire::MemberMessageT Heartbeat(int index) {
  wire::MemberMessageT message;
  message.index = static_cast<std::uint32_t>(index);
  message.body = BodyOf<wire::MemberBodyUnion>(wire::HeartbeatT());
  return message;
}

std::vector<OpenMember> OpenSessions(const std::string& address) {
  std::vector<OpenMember> members(kMembers);
  for (int i = 0; i < kMembers; ++i) {
    members[i].client = ChiefClient::Create({.address = address, .peer = "chief", .token = ""});
    members[i].stream = members[i].client->OpenSession();
    EXPECT_TRUE(members[i].stream->Write(Heartbeat(i)));
  }
  return members;
}

TEST(SessionsAtScale, ManyStreamsAndUnaryCallsAtOnce) {
  FakeChief chief;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  auto members = OpenSessions(AddressOf(*server));
  ASSERT_TRUE(chief.AwaitOpen(kMembers));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kMembers; ++i) {
      wire::ChiefMessageT lease;
      ASSERT_TRUE(members[i].stream->Read(&lease));
      EXPECT_EQ(lease.body.type, wire::ChiefBody::Lease);
      ASSERT_TRUE(members[i].stream->Write(Heartbeat(i)));
    }
    EXPECT_TRUE(members[round].client->GetStatus(absl::Seconds(10)).ok());
  }
  for (OpenMember& member : members) {
    member.stream->Cancel();
    wire::ChiefMessageT message;
    while (member.stream->Read(&message)) {
    }
    EXPECT_EQ(member.stream->Finish().code(), absl::StatusCode::kCancelled);
  }
  EXPECT_TRUE(chief.AwaitOpen(0));
}

TEST(SessionsAtScale, ShutdownEndsOpenStreams) {
  FakeChief chief;
  auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  auto members = OpenSessions(AddressOf(*server));
  ASSERT_TRUE(chief.AwaitOpen(kMembers));
  const absl::Time start = MonotonicNow();
  server->Shutdown(absl::Seconds(30));
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(10));  // long before the grace
  for (OpenMember& member : members) {
    wire::ChiefMessageT message;
    while (member.stream->Read(&message)) {
    }
    EXPECT_FALSE(member.stream->Finish().ok());
  }
  server->Shutdown(absl::Seconds(30));  // again: nothing to do
}

TEST(SessionsAtScale, ShutdownFreesAWriterWhoseMemberDoesNotRead) {
  class Flooder : public FakeChief {
   public:
    absl::Status Session(MemberStream& stream) override {
      wire::StopTrainingT large;
      large.reason = std::string(1 << 20, 'x');
      const auto message = FromChief(std::move(large));
      while (stream.Write(message)) {
      }
      return absl::OkStatus();
    }
  };
  Flooder chief;
  auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  auto client = ChiefClient::Create({.address = AddressOf(*server), .peer = "chief", .token = ""});
  const auto stream = client->OpenSession();
  wire::ChiefMessageT message;
  ASSERT_TRUE(stream->Read(&message));
  const absl::Time start = MonotonicNow();
  server->Shutdown(absl::ZeroDuration());
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(10));
  stream->Cancel();
}

}  // namespace
}  // namespace weir::rpc
