#include "common/net/ucx/status.h"

#include "absl/strings/str_cat.h"

namespace weir::net {
namespace {

// Complete on purpose: -Wswitch names what a newer UCX adds. A dead peer shows as one of several
// codes, which differ by version and transport; all of them are kUnavailable.
absl::StatusCode CodeOf(ucs_status_t status) {
  switch (status) {
    case UCS_OK:
      return absl::StatusCode::kOk;
    case UCS_ERR_IO_ERROR:
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_SOME_CONNECTS_FAILED:
    case UCS_ERR_REJECTED:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_FIRST_LINK_FAILURE:
    case UCS_ERR_LAST_LINK_FAILURE:
    case UCS_ERR_FIRST_ENDPOINT_FAILURE:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_LAST_ENDPOINT_FAILURE:
    case UCS_ERR_NO_PROGRESS:
    case UCS_INPROGRESS:
      return absl::StatusCode::kUnavailable;
    case UCS_ERR_TIMED_OUT:
      return absl::StatusCode::kDeadlineExceeded;
    case UCS_ERR_NO_RESOURCE:
    case UCS_ERR_NO_MEMORY:
    case UCS_ERR_BUSY:
    case UCS_ERR_SHMEM_SEGMENT:
    case UCS_ERR_EXCEEDS_LIMIT:
      return absl::StatusCode::kResourceExhausted;
    case UCS_ERR_INVALID_PARAM:
    case UCS_ERR_INVALID_ADDR:
    case UCS_ERR_MESSAGE_TRUNCATED:
    case UCS_ERR_BUFFER_TOO_SMALL:
    case UCS_ERR_OUT_OF_RANGE:
      return absl::StatusCode::kInvalidArgument;
    case UCS_ERR_NOT_IMPLEMENTED:
    case UCS_ERR_UNSUPPORTED:
      return absl::StatusCode::kUnimplemented;
    case UCS_ERR_NO_MESSAGE:
    case UCS_ERR_NO_ELEM:
    case UCS_ERR_NO_DEVICE:
      return absl::StatusCode::kNotFound;
    case UCS_ERR_ALREADY_EXISTS:
      return absl::StatusCode::kAlreadyExists;
    case UCS_ERR_CANCELED:
      return absl::StatusCode::kCancelled;
    case UCS_ERR_LAST:
      break;
  }
  if (UCS_IS_LINK_ERROR(status) || UCS_IS_ENDPOINT_ERROR(status)) {
    return absl::StatusCode::kUnavailable;
  }
  return absl::StatusCode::kInternal;
}

}  // namespace

absl::Status FromUcs(ucs_status_t status, absl::string_view what) {
  const absl::StatusCode code = CodeOf(status);
  if (code == absl::StatusCode::kOk) return absl::OkStatus();
  return absl::Status(code, absl::StrCat(what, ": UCX says \"", ucs_status_string(status), "\""));
}

}  // namespace weir::net
