#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "common/base/unique_fd.h"
#include "common/rpc/client.h"
#include "common/rpc/listen_address.h"
#include "tests/unit/rpc/fake_chief.h"
#include "weir/exit_code.h"

namespace weir::rpc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Somebody else's listener on a free port of 127.0.0.1 (or of everything).
struct Squatter {
  explicit Squatter(std::uint32_t host) : fd(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(host);
    socklen_t length = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (bind(fd.get(), raw, length) == 0 && listen(fd.get(), 1) == 0 &&
        getsockname(fd.get(), raw, &length) == 0)
      port = ntohs(address.sin_port);
  }
  UniqueFd fd;
  int port = 0;
};

absl::Status Listen(const std::string& address, bool loopback_only) {
  FakeChief chief;
  return Server::Create(
             {.who = "ps 0", .address = address, .loopback_only = loopback_only, .token = ""},
             &chief, nullptr)
      .status();
}

TEST(Listen, AnAddressInUseIsNamedWithTheRole) {
  const Squatter squatter(INADDR_LOOPBACK);
  const std::string address = absl::StrCat("127.0.0.1:", squatter.port);
  for (const bool loopback_only : {true, false}) {
    const absl::Status status = Listen(address, loopback_only);
    EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
    EXPECT_EQ(std::string(status.message()),
              absl::StrCat("ps 0 cannot listen on ", address,
                           ": address already in use; stop the process that holds it (ss -ltnp "
                           "'sport = :",
                           squatter.port, "') or give another port"));
  }
}

TEST(Listen, ARoleStartedTwiceDoesNotShareThePort) {
  for (const bool loopback_only : {true, false}) {
    FakeChief chief;
    auto first = Server::Create(
        {.who = "ps 0", .address = "localhost:0", .loopback_only = loopback_only, .token = ""},
        &chief, nullptr);
    ASSERT_TRUE(first.ok()) << first.status();
    const absl::Status second = Listen(absl::StrCat("localhost:", (*first)->port()), loopback_only);
    EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists) << second;
  }
}

TEST(Listen, APortIsFreeAgainAfterShutdown) {
  FakeChief chief;
  auto first = Serve(&chief);
  ASSERT_NE(first, nullptr);
  const int port = first->port();
  first->Shutdown(absl::ZeroDuration());
  EXPECT_NE(Serve(&chief, nullptr, "", port), nullptr);
}

TEST(Listen, MalformedAndForeignAddressesAreRefused) {
  for (const char* address : {"", "localhost", ":1", "localhost:", "localhost:x", "localhost:65536",
                              "localhost:-1", "::1:2222", "[]:1"}) {
    const absl::Status status = Listen(address, true);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage) << address;
    EXPECT_THAT(std::string(status.message()), StartsWith("ps 0 cannot listen on ")) << address;
  }
  EXPECT_EQ(Listen("192.0.2.1:2222", true).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Listen("no-such-host.invalid:2222", true).code(), absl::StatusCode::kInvalidArgument);
}

TEST(Listen, TheWildcardServesAnyAddressOfTheMachine) {
  FakeChief chief;
  auto server = Server::Create(
      {.who = "chief", .address = "some-host:0", .loopback_only = false, .token = ""}, &chief,
      nullptr);
  ASSERT_TRUE(server.ok()) << server.status();
  for (const char* host : {"127.0.0.1", "127.0.0.2", "localhost"}) {
    auto client = ChiefClient::Create(
        {.address = absl::StrCat(host, ":", (*server)->port()), .peer = "chief", .token = ""});
    EXPECT_TRUE(client->GetStatus(absl::Seconds(10)).ok()) << host;
  }
}

TEST(Listen, LoopbackOnlyListensNowhereElse) {
  FakeChief chief;
  const auto server = Serve(&chief);
  ASSERT_NE(server, nullptr);
  auto client = ChiefClient::Create(
      {.address = absl::StrCat("127.0.0.2:", server->port()), .peer = "chief", .token = ""});
  EXPECT_THAT(std::string(client->GetStatus(absl::Seconds(10)).status().message()),
              AllOf(StartsWith("chief at 127.0.0.2:"), HasSubstr("connection refused")));
}

TEST(Listen, Ipv6InBrackets) {
  FakeChief chief;
  auto server = Server::Create(
      {.who = "chief", .address = "[::1]:0", .loopback_only = true, .token = ""}, &chief, nullptr);
  if (!server.ok()) GTEST_SKIP() << "no IPv6 here: " << server.status();
  auto client = ChiefClient::Create(
      {.address = absl::StrCat("[::1]:", (*server)->port()), .peer = "chief", .token = ""});
  EXPECT_TRUE(client->GetStatus(absl::Seconds(10)).ok());
}

}  // namespace
}  // namespace weir::rpc
