#include "common/base/occurrences.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(OccurrencesTest, FirstAtOnceThenOnceAMinute) {
  const absl::Time start = absl::UnixEpoch();
  Occurrences occurrences;
  EXPECT_EQ(occurrences.Add(start), 1U);
  for (int second = 0; second < 59; ++second) {
    EXPECT_EQ(occurrences.Add(start + absl::Seconds(second)), 0U);
  }
  EXPECT_EQ(occurrences.Add(start + absl::Minutes(1)), 60U);
  EXPECT_EQ(occurrences.Add(start + absl::Minutes(1)), 0U);
  EXPECT_EQ(occurrences.Add(start + absl::Hours(1)), 2U);
}

}  // namespace
}  // namespace weir
