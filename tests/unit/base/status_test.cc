#include "absl/status/status.h"

#include "common/base/checksum.h"
#include "common/base/ids.h"
#include "gtest/gtest.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

TEST(ExitCodeTest, TravelsWithTheStatus) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), ExitCode::kDone);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("x")), ExitCode::kFailed);
  const absl::Status bad = WithExitCode(absl::NotFoundError("no data"), ExitCode::kBadData);
  EXPECT_EQ(ExitCodeOf(bad), ExitCode::kBadData);
  EXPECT_EQ(bad.message(), "no data");
  EXPECT_TRUE(WithExitCode(absl::OkStatus(), ExitCode::kFailed).ok());
}

TEST(ChecksumTest, IsXxh3) {
  // XXH3_64bits of nothing, as the xxHash specification gives it.
  EXPECT_EQ(Checksum({}), 0x2d06800538d394c2U);
}

TEST(IdsTest, RandomIdsDiffer) { EXPECT_NE(RandomId(), RandomId()); }

}  // namespace
}  // namespace weir
