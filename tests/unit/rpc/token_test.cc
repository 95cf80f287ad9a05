#include "common/rpc/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::rpc {
namespace {

using ::testing::HasSubstr;

TEST(Token, SentAsItIsWhenPlain) { EXPECT_EQ(TokenOnTheWire("s3cret-~!"), "s3cret-~!"); }

TEST(Token, SentInHexWhenHttp2WouldNotTakeIt) {
  EXPECT_EQ(TokenOnTheWire("a b"), "hex:612062");
  EXPECT_EQ(TokenOnTheWire("\xc3\xa9\n"), "hex:c3a90a");
  // Else the plain token "hex:612062" would pass for "a b".
  EXPECT_NE(TokenOnTheWire("hex:612062"), "hex:612062");
}

TEST(Token, ChecksOnlyWhereOneIsAskedFor) {
  const absl::string_view given = "anything";
  EXPECT_TRUE(CheckToken("", nullptr).ok());
  EXPECT_TRUE(CheckToken("", &given).ok());
}

TEST(Token, AcceptsOnlyTheSame) {
  for (const absl::string_view given :
       {"secreT", "secre", "secrets", "", "xecret", "secretsecret"}) {
    const absl::Status status = CheckToken("secret", &given);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << given;
    EXPECT_THAT(std::string(status.message()), HasSubstr("token is wrong: set WEIR_TOKEN"));
  }
  const absl::string_view right = "secret";
  EXPECT_TRUE(CheckToken("secret", &right).ok());
  EXPECT_THAT(std::string(CheckToken("secret", nullptr).message()), HasSubstr("token is missing"));
}

}  // namespace
}  // namespace weir::rpc
