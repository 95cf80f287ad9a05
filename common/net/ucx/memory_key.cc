#include "common/net/ucx/memory_key.h"

#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/net/ucx/address.h"
#include "common/net/ucx/status.h"

namespace weir::net {
namespace {

// Its address and its length; UCX's own part follows.
constexpr std::size_t kFixedBytes = 2 * sizeof(std::uint64_t);

}  // namespace

absl::StatusOr<std::string> PackUcxMemoryKey(ucp_context_h context, ucp_mem_h memory,
                                             MutableByteSpan bytes) {
  void* rkey = nullptr;
  std::size_t rkey_bytes = 0;
  WEIR_RETURN_IF_ERROR(
      FromUcs(ucp_rkey_pack(context, memory, &rkey, &rkey_bytes), "packing the key of a memory"));
  const std::array<std::uint64_t, 2> fixed = {reinterpret_cast<std::uintptr_t>(bytes.data()),
                                              bytes.size()};
  std::string key(kFixedBytes, '\0');
  std::memcpy(key.data(), fixed.data(), kFixedBytes);
  key.append(static_cast<const char*>(rkey), rkey_bytes);
  ucp_rkey_buffer_release(rkey);
  return PackUcxAddress(key);
}

absl::StatusOr<UcxMemoryKey> UnpackUcxMemoryKey(absl::string_view packed) {
  WEIR_ASSIGN_OR_RETURN(const std::string text, UnpackUcxAddress(packed));
  if (text.size() <= kFixedBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("not the key of a memory (", packed.size(), " bytes)"));
  }
  UcxMemoryKey key;
  std::memcpy(&key.address, text.data(), sizeof(key.address));
  std::memcpy(&key.bytes, text.data() + sizeof(key.address), sizeof(key.bytes));
  key.rkey = text.substr(kFixedBytes);
  return key;
}

}  // namespace weir::net
