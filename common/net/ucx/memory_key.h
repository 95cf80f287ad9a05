#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/bytes.h"

namespace weir::net {

/// What names a registered memory to a peer.
struct UcxMemoryKey {
  std::uint64_t address = 0;  ///< of its first byte, in its owner's process
  std::uint64_t bytes = 0;
  std::string rkey;  ///< as UCX packed it
};

/// The key of `bytes`, which lie in `memory`, as it travels. It is wrapped as addresses are
/// (address.h), since UCX parses it without checks.
absl::StatusOr<std::string> PackUcxMemoryKey(ucp_context_h context, ucp_mem_h memory,
                                             MutableByteSpan bytes);

/// Errors: as UnpackUcxAddress.
absl::StatusOr<UcxMemoryKey> UnpackUcxMemoryKey(absl::string_view packed);

}  // namespace weir::net
