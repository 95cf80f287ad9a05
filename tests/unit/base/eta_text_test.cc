#include "common/base/eta_text.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(EtaTextTest, ShowsTheTwoLargestUnits) {
  EXPECT_EQ(EtaText(std::nullopt), "--");
  EXPECT_EQ(EtaText(absl::ZeroDuration()), "0s");
  EXPECT_EQ(EtaText(absl::Milliseconds(7001)), "8s");
  EXPECT_EQ(EtaText(absl::Milliseconds(59999)), "1m00s");
  EXPECT_EQ(EtaText(absl::Seconds(200)), "3m20s");
  EXPECT_EQ(EtaText(absl::Minutes(125)), "2h05m");
  EXPECT_EQ(EtaText(absl::Hours(102)), "4d06h");
}

}  // namespace
}  // namespace weir
