#include "common/rpc/grpc_status.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "weir/exit_code.h"

namespace weir::rpc {
namespace {

struct KnownReason {
  absl::string_view in_grpc;
  absl::string_view plain;
};

// As libgrpc 1.51 words them.
constexpr KnownReason kKnownReasons[] = {
    {"Connection refused", "connection refused"},
    {"DNS resolution failed", "the name does not resolve"},
    {"No route to host", "no route to the host"},
    {"Network is unreachable", "the network is unreachable"},
    {"Connection timed out", "the connection attempt timed out"},
    {"connect() timed out", "the connection attempt timed out"},
    {"tcp handshaker shutdown", "the connection attempt timed out"},
    {"certificate verify failed", "its certificate is not accepted"},
    {"is not in peer certificate", "its certificate is for another name"},
    {"wrong version number", "it does not speak TLS"},
    {"Connection reset by peer", "the connection was reset"},
    {"Broken pipe", "the connection was closed"},
    {"Socket closed", "the connection was closed"},
    {"GOAWAY received", "the peer is shutting down"},
    {"Server shutdown", "the peer is shutting down"},
    {"Deadline Exceeded", "no answer in time"},
    {"Trying to connect an http1.x server", "it speaks HTTP/1, not gRPC: is the port right?"},
};

bool IsPermanentRefusal(absl::StatusCode code) {
  return code == absl::StatusCode::kUnauthenticated || code == absl::StatusCode::kUnimplemented;
}

}  // namespace

absl::StatusCode FromGrpcCode(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return absl::StatusCode::kOk;
    case grpc::StatusCode::CANCELLED:
      return absl::StatusCode::kCancelled;
    case grpc::StatusCode::UNKNOWN:
      return absl::StatusCode::kUnknown;
    case grpc::StatusCode::INVALID_ARGUMENT:
      return absl::StatusCode::kInvalidArgument;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return absl::StatusCode::kDeadlineExceeded;
    case grpc::StatusCode::NOT_FOUND:
      return absl::StatusCode::kNotFound;
    case grpc::StatusCode::ALREADY_EXISTS:
      return absl::StatusCode::kAlreadyExists;
    case grpc::StatusCode::PERMISSION_DENIED:
      return absl::StatusCode::kPermissionDenied;
    case grpc::StatusCode::UNAUTHENTICATED:
      return absl::StatusCode::kUnauthenticated;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return absl::StatusCode::kResourceExhausted;
    case grpc::StatusCode::FAILED_PRECONDITION:
      return absl::StatusCode::kFailedPrecondition;
    case grpc::StatusCode::ABORTED:
      return absl::StatusCode::kAborted;
    case grpc::StatusCode::OUT_OF_RANGE:
      return absl::StatusCode::kOutOfRange;
    case grpc::StatusCode::UNIMPLEMENTED:
      return absl::StatusCode::kUnimplemented;
    case grpc::StatusCode::INTERNAL:
      return absl::StatusCode::kInternal;
    case grpc::StatusCode::UNAVAILABLE:
      return absl::StatusCode::kUnavailable;
    case grpc::StatusCode::DATA_LOSS:
      return absl::StatusCode::kDataLoss;
    case grpc::StatusCode::DO_NOT_USE:
      break;
  }
  return absl::StatusCode::kUnknown;
}

grpc::StatusCode ToGrpcCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return grpc::StatusCode::OK;
    case absl::StatusCode::kCancelled:
      return grpc::StatusCode::CANCELLED;
    case absl::StatusCode::kUnknown:
      return grpc::StatusCode::UNKNOWN;
    case absl::StatusCode::kInvalidArgument:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case absl::StatusCode::kDeadlineExceeded:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case absl::StatusCode::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case absl::StatusCode::kAlreadyExists:
      return grpc::StatusCode::ALREADY_EXISTS;
    case absl::StatusCode::kPermissionDenied:
      return grpc::StatusCode::PERMISSION_DENIED;
    case absl::StatusCode::kUnauthenticated:
      return grpc::StatusCode::UNAUTHENTICATED;
    case absl::StatusCode::kResourceExhausted:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case absl::StatusCode::kFailedPrecondition:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case absl::StatusCode::kAborted:
      return grpc::StatusCode::ABORTED;
    case absl::StatusCode::kOutOfRange:
      return grpc::StatusCode::OUT_OF_RANGE;
    case absl::StatusCode::kUnimplemented:
      return grpc::StatusCode::UNIMPLEMENTED;
    case absl::StatusCode::kInternal:
      return grpc::StatusCode::INTERNAL;
    case absl::StatusCode::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    case absl::StatusCode::kDataLoss:
      return grpc::StatusCode::DATA_LOSS;
    case absl::StatusCode::kDoNotUseReservedForFutureExpansionUseDefaultInSwitchInstead_:
      break;
  }
  return grpc::StatusCode::UNKNOWN;
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(ToGrpcCode(status.code()), std::string(status.message()));
}

bool MayBeTls(const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return false;
  constexpr absl::string_view kSigns[] = {"Socket closed", "Connection reset",
                                          "Broken pipe",   "Endpoint read failed",
                                          "andshake",      "peer certificate"};
  const std::string message = status.error_message();
  return std::any_of(std::begin(kSigns), std::end(kSigns),
                     [&](absl::string_view sign) { return absl::StrContains(message, sign); });
}

std::string ShortReason(const grpc::Status& status) {
  const std::string message = status.error_message();
  // gRPC itself answers with these two; the words of a handler, with other codes, pass on whole.
  const bool from_grpc = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                         status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  if (from_grpc) {
    for (const KnownReason& known : kKnownReasons)
      if (absl::StrContains(message, known.in_grpc)) return std::string(known.plain);
  }
  if (message.empty()) {
    return absl::StrCat("error ", absl::StatusCodeToString(FromGrpcCode(status.error_code())));
  }
  absl::string_view text = message;
  constexpr absl::string_view kLast = "last error: ";
  if (const std::size_t last = text.rfind(kLast); from_grpc && last != absl::string_view::npos)
    text.remove_prefix(last + kLast.size());
  // gRPC appends its debug tree as JSON.
  if (from_grpc) text = text.substr(0, text.find(" {\""));
  constexpr std::size_t kLongest = 1000;
  return std::string(text.substr(0, kLongest));
}

absl::Status FromGrpc(const grpc::Status& status, absl::string_view peer,
                      absl::string_view address) {
  if (status.ok()) return absl::OkStatus();
  const absl::StatusCode code = FromGrpcCode(status.error_code());
  std::string reason = ShortReason(status);
  if (code == absl::StatusCode::kUnimplemented) {
    reason = absl::StrCat("it does not serve this call (", reason,
                          "): is another role or another program at this address?");
  }
  absl::Status error(code, absl::StrCat(peer, " at ", address, ": ", reason));
  return IsPermanentRefusal(code) ? WithExitCode(std::move(error), ExitCode::kBadUsage) : error;
}

}  // namespace weir::rpc
