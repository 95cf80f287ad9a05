#include "common/config/mistakes.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST(MistakesTest, CountsWhatItLeavesOut) {
  Mistakes mistakes;
  EXPECT_TRUE(mistakes.ToStatus("X").ok());
  for (int i = 0; i < 1003; ++i) mistakes.Add("key", "text");
  const std::string message(mistakes.ToStatus("X").message());
  EXPECT_THAT(message, HasSubstr("X: 1003 mistakes\n  key: text\n"));
  EXPECT_THAT(message, HasSubstr("... and 3 more"));
}

}  // namespace
}  // namespace weir
