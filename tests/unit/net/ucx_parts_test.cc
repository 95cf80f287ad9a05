// The parts of the UCX transport that start no UCX.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/model/protocol.h"
#include "common/net/ucx/address.h"
#include "common/net/ucx/context.h"
#include "common/net/ucx/path.h"
#include "common/net/ucx/status.h"
#include "common/net/ucx/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/exit_code.h"

namespace weir::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(UcxStatusTest, MapsEveryCode) {
  using absl::StatusCode;
  const std::vector<std::pair<ucs_status_t, StatusCode>> table = {
      {UCS_OK, StatusCode::kOk},
      {UCS_INPROGRESS, StatusCode::kUnavailable},
      {UCS_ERR_NO_MESSAGE, StatusCode::kNotFound},
      {UCS_ERR_NO_RESOURCE, StatusCode::kResourceExhausted},
      {UCS_ERR_IO_ERROR, StatusCode::kUnavailable},
      {UCS_ERR_NO_MEMORY, StatusCode::kResourceExhausted},
      {UCS_ERR_INVALID_PARAM, StatusCode::kInvalidArgument},
      {UCS_ERR_UNREACHABLE, StatusCode::kUnavailable},
      {UCS_ERR_INVALID_ADDR, StatusCode::kInvalidArgument},
      {UCS_ERR_NOT_IMPLEMENTED, StatusCode::kUnimplemented},
      {UCS_ERR_MESSAGE_TRUNCATED, StatusCode::kInvalidArgument},
      {UCS_ERR_NO_PROGRESS, StatusCode::kUnavailable},
      {UCS_ERR_BUFFER_TOO_SMALL, StatusCode::kInvalidArgument},
      {UCS_ERR_NO_ELEM, StatusCode::kNotFound},
      {UCS_ERR_SOME_CONNECTS_FAILED, StatusCode::kUnavailable},
      {UCS_ERR_NO_DEVICE, StatusCode::kNotFound},
      {UCS_ERR_BUSY, StatusCode::kResourceExhausted},
      {UCS_ERR_CANCELED, StatusCode::kCancelled},
      {UCS_ERR_SHMEM_SEGMENT, StatusCode::kResourceExhausted},
      {UCS_ERR_ALREADY_EXISTS, StatusCode::kAlreadyExists},
      {UCS_ERR_OUT_OF_RANGE, StatusCode::kInvalidArgument},
      {UCS_ERR_TIMED_OUT, StatusCode::kDeadlineExceeded},
      {UCS_ERR_EXCEEDS_LIMIT, StatusCode::kResourceExhausted},
      {UCS_ERR_UNSUPPORTED, StatusCode::kUnimplemented},
      {UCS_ERR_REJECTED, StatusCode::kUnavailable},
      {UCS_ERR_NOT_CONNECTED, StatusCode::kUnavailable},
      {UCS_ERR_CONNECTION_RESET, StatusCode::kUnavailable},
      {UCS_ERR_FIRST_LINK_FAILURE, StatusCode::kUnavailable},
      {UCS_ERR_LAST_LINK_FAILURE, StatusCode::kUnavailable},
      {UCS_ERR_FIRST_ENDPOINT_FAILURE, StatusCode::kUnavailable},
      {UCS_ERR_ENDPOINT_TIMEOUT, StatusCode::kUnavailable},
      {UCS_ERR_LAST_ENDPOINT_FAILURE, StatusCode::kUnavailable},
      {static_cast<ucs_status_t>(-50), StatusCode::kUnavailable},
      {static_cast<ucs_status_t>(-70), StatusCode::kUnavailable},
      {UCS_ERR_LAST, StatusCode::kInternal},
      {static_cast<ucs_status_t>(-30), StatusCode::kInternal},
  };
  for (const auto& [ucs, code] : table) EXPECT_EQ(FromUcs(ucs, "x").code(), code) << int{ucs};
  EXPECT_THAT(std::string(FromUcs(UCS_ERR_NO_MEMORY, "mapping").message()),
              HasSubstr("mapping: UCX says \"Out of memory\""));
}

TEST(UcxVersionTest, ComparesSeries) {
  EXPECT_TRUE(SameUcxSeries("1.13.1", "1.13.0"));
  EXPECT_TRUE(SameUcxSeries("1.13", "1.13.7"));
  EXPECT_FALSE(SameUcxSeries("1.13.1", "1.14.1"));
  EXPECT_FALSE(SameUcxSeries("1.1", "1.13.1"));
  EXPECT_FALSE(SameUcxSeries("", ""));
  EXPECT_FALSE(SameUcxSeries("1.", "1."));
  EXPECT_TRUE(SameUcxSeries(UcxVersion(), UcxVersion()));
}

TEST(UcxAddressTest, ComesBackAsItWas) {
  const std::string worker("\0binary\xff", 8);
  const auto back = UnpackUcxAddress(PackUcxAddress(worker));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, worker);
}

TEST(UcxAddressTest, RefusesEveryDamage) {
  const std::string packed = PackUcxAddress("some worker address");
  for (std::size_t i = 0; i < packed.size(); ++i) {
    EXPECT_FALSE(UnpackUcxAddress(packed.substr(0, i)).ok()) << i;
    std::string damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    EXPECT_EQ(UnpackUcxAddress(damaged).status().code(), absl::StatusCode::kInvalidArgument) << i;
  }
}

// As UCX 1.13 prints it.
TEST(UcxPathTest, ReadsTheLanes) {
  EXPECT_THAT(LanesIn("#     lane[0]:  0:tcp/lo.0 md[0]   -> md[0]/tcp/sysdev[255] am am_bw#0\n"
                      "#     lane[1]:  0:tcp/lo.0 md[0]   -> md[0]/tcp/sysdev[255] rma_bw#0\n"),
              ElementsAre("tcp/lo"));
  EXPECT_THAT(LanesIn("#   lane[0]:  1:sysv/memory.0 md[1] -> md[1]/sysv am\n"
                      "#   lane[1]:  0:posix/memory.0 md[0] -> md[0]/posix amo#0\n"
                      "#   lane[2]:  2:rc_mlx5/mlx5_0:1.0 md[2] -> x rma\n"),
              ElementsAre("sysv", "posix", "rc_mlx5/mlx5_0:1"));
  EXPECT_THAT(LanesIn("nothing that is known: a/b\n# lane[x]\n# lane[0]: <unknown>\n"), IsEmpty());
}

TEST(UcxContextTest, RefusesPortRangesThatAreNone) {
  for (const char* range : {"x", "1000", "2000-1000", "0-10", "1-70000", "1-2-3", "-5", "1-"}) {
    UcxOptions options;
    options.port_range = range;
    const absl::Status status = UcxContext::Create(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << range;
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
    EXPECT_THAT(std::string(status.message()), HasSubstr(range));
  }
}

}  // namespace
}  // namespace weir::net
