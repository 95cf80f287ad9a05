#include "doctor/peer_checks.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <atomic>
#include <cstring>
#include <memory>

#include "absl/synchronization/notification.h"
#include "tests/unit/doctor/expect_check.h"
#include "tests/unit/doctor/host_folder.h"

namespace weir::doctor {
namespace {

SocketAddress Ipv4(const char* text) {
  SocketAddress address;
  sockaddr_in ipv4{.sin_family = AF_INET};
  inet_pton(AF_INET, text, &ipv4.sin_addr);
  std::memcpy(&address.storage, &ipv4, sizeof ipv4);
  address.length = sizeof ipv4;
  return address;
}

TfConfig Config(const std::string& cluster) {
  return ParseTfConfig("{\"cluster\": " + cluster + R"(, "task": {"type": "ps", "index": 0}})",
                       "TF_CONFIG")
      .value();
}

const char* const kTwoHosts = R"({"chief": ["a:1"], "ps": ["b:2"], "worker": ["c:3", "d:4"]})";
const Peer kPs{.task = {.role = RoleType::kPs}, .address = "b:2"};

TEST(PeersTest, EachProcessOnce) {
  EXPECT_EQ(PeersOf(*Config(kTwoHosts).cluster).size(), 4);
  // Worker 0's process is the chief's too.
  EXPECT_EQ(PeersOf(*Config(R"({"ps": ["b:2"], "worker": ["c:3", "d:4"]})").cluster).size(), 3);
  // The chief's process hosts worker 0.
  EXPECT_EQ(PeersOf(*Config(R"({"chief": ["a:1"], "ps": ["b:2"]})").cluster).size(), 2);
}

TEST(ClusterTest, InALine) {
  ExpectCheck(CheckCluster({}), Verdict::kOk, "none in TF_CONFIG");
  ExpectCheck(CheckCluster(Config(kTwoHosts)), Verdict::kOk, "1 ps, 2 workers; this process: ps 0");
  ExpectCheck(CheckCluster(Config(R"({"ps": ["localhost:2"], "worker": ["localhost:3"]})")),
              Verdict::kOk, "a loopback cluster");
}

class PeerTest : public testing::Test {
 protected:
  Check Judged(const Route& route) const {
    return CheckPeer(kPs, cluster_, {.addresses = {Ipv4("10.0.0.7")}}, route, ", MTU 9000");
  }
  ClusterSpec cluster_ = *Config(kTwoHosts).cluster;
};

TEST_F(PeerTest, Reachable) {
  ExpectCheck(Judged({.peer = "10.0.0.7", .local = "10.0.0.5", .interface = "eth1"}), Verdict::kOk,
              "b:2 is 10.0.0.7, by eth1 from 10.0.0.5, MTU 9000");
  ExpectCheck(Judged({.peer = "10.0.0.7", .local = "10.0.0.7", .interface = "eth1", .own = true}),
              Verdict::kOk, "this host's eth1");
}

TEST_F(PeerTest, NotReachable) {
  ExpectCheck(Judged({.peer = "10.0.0.7", .error = "Network is unreachable"}), Verdict::kFail,
              "b:2 is 10.0.0.7, which cannot be reached: Network is unreachable");
}

TEST_F(PeerTest, NotResolved) {
  const Check check =
      CheckPeer(kPs, cluster_, {.error = "Name or service not known"}, std::nullopt, "");
  EXPECT_EQ(check.name, "peer ps 0");
  ExpectCheck(check, Verdict::kFail, "b:2 cannot be resolved: Name or service not known");
  ExpectCheck(CheckPeer(kPs, cluster_, {}, std::nullopt, ""), Verdict::kFail, "no address");
}

TEST_F(PeerTest, LoopbackIsForLoopbackClusters) {
  const Route route{.peer = "127.0.1.1", .local = "127.0.0.1", .interface = "lo", .loopback = true};
  ExpectCheck(Judged(route), Verdict::kWarn, "b:2 is 127.0.1.1: loopback");
  cluster_.loopback_only = true;
  ExpectCheck(Judged(route), Verdict::kOk, "loopback");
}

TEST(RouteTest, ToLoopback) {
  const Route route = RouteTo(Ipv4("127.0.0.1"), 7);
  EXPECT_EQ(route.error, "");
  EXPECT_EQ(route.peer, "127.0.0.1");
  EXPECT_EQ(route.local, "127.0.0.1");
  EXPECT_EQ(route.interface, "lo");
  EXPECT_TRUE(route.loopback);
  EXPECT_FALSE(route.own);
}

// The kernel refuses to send there from a socket that did not ask for it.
TEST(RouteTest, ToBroadcast) { EXPECT_NE(RouteTo(Ipv4("255.255.255.255"), 7).error, ""); }

TEST(RouteTest, LinkText) {
  HostFolder host;
  EXPECT_EQ(LinkText(host.files(), "eth0"), "");
  host.Write("/sys/class/net/eth0/mtu", "1500");
  host.Write("/sys/class/net/eth0/speed", "-1");
  EXPECT_EQ(LinkText(host.files(), "eth0"), ", MTU 1500");
  host.Write("/sys/class/net/eth0/speed", "25000");
  EXPECT_EQ(LinkText(host.files(), "eth0"), ", 25000 Mb/s, MTU 1500");
  EXPECT_EQ(LinkText(host.files(), ""), "");
}

TEST(ResolveTest, ThisHost) {
  const Resolution found = LookUpHost("127.0.0.1");
  EXPECT_EQ(found.error, "");
  EXPECT_EQ(found.addresses.size(), 1);
  EXPECT_NE(LookUpHost("no such name").error, "");
}

TEST(ResolveTest, EachHostIsAskedForOnce) {
  const auto count = std::make_shared<std::atomic<int>>(0);
  const std::vector<std::string> hosts(100, "a");
  const auto answers = ResolveAll(hosts, absl::Seconds(20), [count](const std::string& host) {
    ++*count;
    return Resolution{.error = "never heard of " + host};
  });
  EXPECT_EQ(*count, 1);
  ASSERT_EQ(answers.size(), 1);
  EXPECT_EQ(answers.at("a").error, "never heard of a");
}

TEST(ResolveTest, MoreHostsThanThreads) {
  std::vector<std::string> hosts;
  for (int i = 0; i < 500; ++i) hosts.push_back("host" + std::to_string(i));
  const auto answers = ResolveAll(
      hosts, absl::Seconds(20), [](const std::string& host) { return Resolution{.error = host}; });
  ASSERT_EQ(answers.size(), hosts.size());
  for (const auto& [host, resolution] : answers) EXPECT_EQ(resolution.error, host);
}

// What a name server that does not answer does.
TEST(ResolveTest, ALookUpThatHangsIsLeftBehind) {
  const auto released = std::make_shared<absl::Notification>();
  const std::vector<std::string> hosts = {"hangs", "known"};
  const auto answers =
      ResolveAll(hosts, absl::Milliseconds(500), [released](const std::string& host) {
        if (host == "hangs") released->WaitForNotification();
        return Resolution{.addresses = {Ipv4("10.0.0.7")}};
      });
  released->Notify();
  EXPECT_EQ(answers.at("known").addresses.size(), 1);
  EXPECT_EQ(answers.at("hangs").error, "no answer within 500ms");
}

TEST(CheckPeersTest, ALinePerTaskInOrder) {
  HostFolder host;
  const auto checks = CheckPeers(
      *Config(kTwoHosts).cluster, host.files(), absl::Seconds(20), [](const std::string& name) {
        return name == "c" ? Resolution{.error = "no such name"}
                           : Resolution{.addresses = {Ipv4("127.0.0.1")}};
      });
  ASSERT_EQ(checks.size(), 4);
  EXPECT_EQ(checks[0].name, "peer chief");
  ExpectCheck(checks[1], Verdict::kWarn, "b:2 is 127.0.0.1: loopback");
  ExpectCheck(checks[2], Verdict::kFail, "c:3 cannot be resolved: no such name");
  EXPECT_EQ(checks[3].name, "peer worker 1");
}

}  // namespace
}  // namespace weir::doctor
