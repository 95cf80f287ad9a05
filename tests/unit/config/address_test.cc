#include "common/config/address.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

struct Legal {
  std::string text, host;
  int port;
  std::string shown;
};

TEST(AddressTest, ReadsWhatIsLegal) {
  const Legal cases[] = {
      {"host:80", "host", 80, "host:80"},
      {"Host-1.my_net:65535", "Host-1.my_net", 65535, "Host-1.my_net:65535"},
      {"10.0.0.1:1", "10.0.0.1", 1, "10.0.0.1:1"},
      {"host:0080", "host", 80, "host:80"},
      {"host.:80", "host.", 80, "host.:80"},
      {"[::1]:80", "::1", 80, "[::1]:80"},
      {"[fe80::1%eth0]:80", "fe80::1%eth0", 80, "[fe80::1%eth0]:80"},
  };
  for (const Legal& c : cases) {
    const absl::StatusOr<HostPort> address = ParseAddress(c.text);
    ASSERT_TRUE(address.ok()) << c.text << ": " << address.status();
    EXPECT_EQ(address->host, c.host) << c.text;
    EXPECT_EQ(address->port, c.port) << c.text;
    EXPECT_EQ(address->ToString(), c.shown) << c.text;
  }
}

struct Illegal {
  std::string text, message;
};

TEST(AddressTest, SaysWhatIsWrong) {
  const Illegal cases[] = {
      {"", "is empty"},
      {"host", "has no port"},
      {"[::1]", "has no port"},
      {"host:", "has the port \"\""},
      {"host:0", "has the port \"0\""},
      {"host:65536", "has the port \"65536\""},
      {"host:99999999999999999999", "write a number 1-65535"},
      {"host:+80", "has the port \"+80\""},
      {"host:-80", "has the port \"-80\""},
      {"host: 80", "has the port \" 80\""},
      {"host:80 ", "has the port \"80 \""},
      {"host:http", "has the port \"http\""},
      {"host:80.0", "has the port \"80.0\""},
      {":80", "has no host"},
      {"grpc://host:80", "has a scheme; write \"host:80\""},
      {"http://host:80/path", "has a scheme; write \"host:80\""},
      {"host:80/path", "has a \"/\""},
      {"::1:80", "needs brackets around IPv6; write [::1]:port"},
      {"a:b:80", "more than one colon"},
      {"[host]:80", "no IPv6 address in its brackets"},
      {"[127.0.0.1]:80", "no IPv6 address in its brackets"},
      {"[::g]:80", "no IPv6 address in its brackets"},
      {"[]:80", "no IPv6 address in its brackets"},
      {"[::1:80", "more than one colon"},
      {"my host:80", "a character that no host's name has"},
      {"user@host:80", "a character that no host's name has"},
      {"h\xc3\xb6st:80", "a character that no host's name has"},
      {"256.1.1.1:80", "not an IPv4 address"},
      {"127.1:80", "not an IPv4 address"},
      {std::string("ho\0st:80", 8), "a character that no host's name has"},
  };
  for (const Illegal& c : cases) {
    const absl::StatusOr<HostPort> address = ParseAddress(c.text);
    ASSERT_FALSE(address.ok()) << c.text;
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(address.status().message()), HasSubstr(c.message)) << c.text;
  }
}

bool Loopback(const std::string& text) { return IsLoopback(*ParseAddress(text)); }

TEST(AddressTest, KnowsLiteralLoopback) {
  for (const char* text : {"localhost:1", "LocalHost.:1", "127.0.0.1:1", "127.255.3.4:1", "[::1]:1",
                           "[0:0:0:0:0:0:0:1]:1", "[::ffff:127.0.0.1]:1"})
    EXPECT_TRUE(Loopback(text)) << text;
  for (const char* text : {"host:1", "localhost.example.org:1", "128.0.0.1:1", "0.0.0.0:1",
                           "[::]:1", "[::2]:1", "[::ffff:10.0.0.1]:1"})
    EXPECT_FALSE(Loopback(text)) << text;
}

std::string Canonical(const std::string& text) { return CanonicalAddress(*ParseAddress(text)); }

TEST(AddressTest, ComparesSpellings) {
  EXPECT_EQ(Canonical("HOST.:080"), Canonical("host:80"));
  EXPECT_EQ(Canonical("localhost:80"), Canonical("127.0.0.1:80"));
  EXPECT_EQ(Canonical("[0:0::1]:80"), Canonical("[::1]:80"));
  EXPECT_EQ(Canonical("[::ffff:10.0.0.1]:80"), Canonical("10.0.0.1:80"));
  EXPECT_NE(Canonical("host:80"), Canonical("host:81"));
  EXPECT_NE(Canonical("[fe80::1%eth0]:80"), Canonical("[fe80::1%eth1]:80"));
}

}  // namespace
}  // namespace weir
