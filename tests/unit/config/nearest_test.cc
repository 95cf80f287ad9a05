#include "common/config/nearest.h"

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

const std::vector<std::string> kFlags = {"--ps", "--seed", "--batch-size", "--max-steps",
                                         "--eval-steps"};

TEST(NearestTest, FindsWhatWasMeant) {
  EXPECT_EQ(Nearest("--batch_size", kFlags), "--batch-size");
  EXPECT_EQ(Nearest("--bacth-size", kFlags), "--batch-size");
  EXPECT_EQ(Nearest("--Max-Steps", kFlags), "--max-steps");
  EXPECT_EQ(Nearest("--max-step", kFlags), "--max-steps");
  EXPECT_EQ(Nearest("--batch", kFlags), "--batch-size") << "a beginning of one only";
  EXPECT_EQ(DidYouMean("--sed", kFlags), "; did you mean --seed?");
}

TEST(NearestTest, IsSilentWhenNothingIsClose) {
  EXPECT_EQ(Nearest("--wholly-different", kFlags), std::nullopt);
  EXPECT_EQ(Nearest("", kFlags), std::nullopt);
  EXPECT_EQ(Nearest("x", {}), std::nullopt);
  EXPECT_EQ(Nearest(std::string(100000, 'x'), kFlags), std::nullopt);
  EXPECT_EQ(DidYouMean("--wholly-different", kFlags), "");
}

TEST(NearestTest, KeepsToItsLimit) {
  EXPECT_EQ(NearestWithin("--sed", kFlags, 1), "--seed");
  EXPECT_EQ(NearestWithin("--se", kFlags, 1), std::nullopt);
}

}  // namespace
}  // namespace weir
