#include "common/net/ucx/remote_memory.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/net/ucx/memory_key.h"
#include "common/net/ucx/path.h"
#include "common/net/ucx/status.h"

namespace weir::net {
namespace {

// ud, tcp and shared memory have none of their own: UCX would ask the owner by a message for each
// 8 KiB, and the owner would have to be awake.
bool ReadsFromAfar(const std::string& lane) {
  return absl::StartsWith(lane, "rc_") || absl::StartsWith(lane, "dc_");
}

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteMemory>> UcxRemoteMemory::Create(PeerId owner,
                                                                      ucp_ep_h endpoint,
                                                                      const std::string& key,
                                                                      std::size_t bytes,
                                                                      const std::string& name) {
  const std::vector<std::string> lanes = LanesOf(endpoint);
  if (std::ranges::none_of(lanes, ReadsFromAfar)) {
    return absl::UnavailableError(absl::StrCat(
        "the connection to ", name, " (", absl::StrJoin(lanes, ", "), ") has no one-sided reads"));
  }
  WEIR_ASSIGN_OR_RETURN(const UcxMemoryKey unpacked, UnpackUcxMemoryKey(key));
  if (bytes == 0 || bytes > unpacked.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory of ", name, " of ", unpacked.bytes, " bytes is said to have ", bytes));
  }
  ucp_rkey_h rkey = nullptr;
  const ucs_status_t status = ucp_ep_rkey_unpack(endpoint, unpacked.rkey.data(), &rkey);
  if (status != UCS_OK) {
    return absl::UnavailableError(
        FromUcs(status, absl::StrCat("opening memory of ", name)).message());
  }
  return std::unique_ptr<RemoteMemory>(new UcxRemoteMemory(
      owner, std::make_shared<const UcxRemoteKey>(rkey), unpacked.address, bytes));
}

}  // namespace weir::net
