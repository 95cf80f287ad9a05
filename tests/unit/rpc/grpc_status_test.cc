#include "common/rpc/grpc_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/exit_code.h"

namespace weir::rpc {
namespace {

using ::testing::HasSubstr;

TEST(GrpcStatus, EveryCodeGoesThereAndBack) {
  // Both libraries number them alike, which the table leans on.
  for (int code = 0; code <= 16; ++code) {
    const auto absl_code = static_cast<absl::StatusCode>(code);
    const auto grpc_code = static_cast<grpc::StatusCode>(code);
    EXPECT_EQ(FromGrpcCode(grpc_code), absl_code) << code;
    EXPECT_EQ(ToGrpcCode(absl_code), grpc_code) << code;
  }
  EXPECT_EQ(FromGrpcCode(grpc::StatusCode::DO_NOT_USE), absl::StatusCode::kUnknown);
  EXPECT_EQ(ToGrpcCode(static_cast<absl::StatusCode>(99)), grpc::StatusCode::UNKNOWN);
}

TEST(GrpcStatus, NamesPeerAddressAndReason) {
  const grpc::Status refused(grpc::StatusCode::UNAVAILABLE,
                             "failed to connect to all addresses; last error: UNKNOWN: "
                             "ipv4:127.0.0.1:1: Failed to connect to remote host: Connection "
                             "refused");
  EXPECT_EQ(FromGrpc(refused, "ps 1", "h:1").message(), "ps 1 at h:1: connection refused");
  const grpc::Status unknown(grpc::StatusCode::UNAVAILABLE,
                             "something; last error: odd {\"created\":\"@16\",\"file\":\"x.cc\"}");
  EXPECT_EQ(FromGrpc(unknown, "ps 1", "h:1").message(), "ps 1 at h:1: odd");
  EXPECT_EQ(FromGrpc(grpc::Status(grpc::StatusCode::ABORTED, ""), "ps 1", "h:1").message(),
            "ps 1 at h:1: error ABORTED");
}

TEST(GrpcStatus, PassesAHandlersWordsOnWhole) {
  const absl::Status sent = absl::FailedPreconditionError("last error: Connection refused");
  EXPECT_EQ(FromGrpc(ToGrpc(sent), "chief", "h:1").message(),
            "chief at h:1: last error: Connection refused");
  const absl::Status words = absl::InvalidArgumentError("Socket closed, says the handler");
  EXPECT_EQ(FromGrpc(ToGrpc(words), "chief", "h:1").message(),
            "chief at h:1: Socket closed, says the handler");
}

TEST(GrpcStatus, PermanentRefusalsEndWithBadUsage) {
  const auto exit_code = [](grpc::StatusCode code) {
    return ExitCodeOf(FromGrpc(grpc::Status(code, "x"), "chief", "h:1"));
  };
  EXPECT_EQ(exit_code(grpc::StatusCode::UNAUTHENTICATED), ExitCode::kBadUsage);
  EXPECT_EQ(exit_code(grpc::StatusCode::UNIMPLEMENTED), ExitCode::kBadUsage);
  EXPECT_EQ(exit_code(grpc::StatusCode::UNAVAILABLE), ExitCode::kFailed);
}

}  // namespace
}  // namespace weir::rpc
