#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <random>

#include "common/base/unique_fd.h"
#include "common/rpc/client.h"
#include "tests/unit/rpc/fake_chief.h"
#include "tests/unit/rpc/raw_calls.h"

namespace weir::rpc {
namespace {

constexpr int kInvalidArgument = 3;

std::string RandomBytes(std::mt19937& random) {
  // Half of them go on after HTTP/2's preface.
  std::string bytes = random() % 2 == 0 ? "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" : "";
  const std::size_t length = 1 + random() % 2000;
  for (std::size_t i = 0; i < length; ++i) bytes.push_back(static_cast<char>(random()));
  return bytes;
}

bool SendTo(int port, const std::string& bytes) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return false;
  return send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0;
}

bool Answers(const Server& server) {
  auto client = ChiefClient::Create({.address = AddressOf(server), .peer = "chief", .token = ""});
  return client->GetStatus(absl::Seconds(10)).ok();
}

TEST(Garbage, OnThePortLeavesTheServerServing) {
  FakeChief chief;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  std::mt19937 random(3);
  const absl::Time start = MonotonicNow();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(SendTo(server->port(), RandomBytes(random))) << i;
  EXPECT_TRUE(Answers(*server));
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(60));
}

TEST(Garbage, AsAMessageIsRefused) {
  FakeChief chief;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  std::mt19937 random(4);
  for (const char* method : {"Join", "Status", "Session"}) {
    const std::string path = absl::StrCat("/weir.wire.ChiefService/", method);
    for (const std::string& bytes : {std::string(), std::string("x"), std::string(4, '\xff'),
                                     std::string(64, '\0'), RandomBytes(random)}) {
      const RawReply reply = RawCall(AddressOf(*server), path, bytes);
      EXPECT_EQ(reply.code, kInvalidArgument) << path << " " << reply.message;
    }
  }
  EXPECT_TRUE(chief.joins().empty());
  EXPECT_TRUE(chief.heard().empty());
  EXPECT_TRUE(Answers(*server));
}

TEST(Garbage, ATooLargeMessageIsRefused) {
  FakeChief chief;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  constexpr int kResourceExhausted = 8;
  const RawReply reply =
      RawCall(AddressOf(*server), "/weir.wire.ChiefService/Join", std::string((16 << 20) + 1, 'x'));
  EXPECT_EQ(reply.code, kResourceExhausted) << reply.message;
  EXPECT_TRUE(Answers(*server));
}

TEST(Garbage, AnUnknownMethodIsRefused) {
  FakeChief chief;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  constexpr int kUnimplemented = 12;
  EXPECT_EQ(RawCall(AddressOf(*server), "/weir.wire.ChiefService/Nothing", "x").code,
            kUnimplemented);
}

}  // namespace
}  // namespace weir::rpc
