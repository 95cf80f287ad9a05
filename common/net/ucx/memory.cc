#include "common/net/ucx/memory.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/net/ucx/memory_key.h"
#include "common/net/ucx/status.h"

namespace weir::net {
namespace {

constexpr std::size_t kMemoryAlignment = 64;  // bytes

absl::Status MapError(ucs_status_t status, std::size_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat(FromUcs(status, absl::StrCat("registering ", bytes, " bytes")).message(),
                   ". Look at the limits: locked memory (ulimit -l), the memory cgroup"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Memory>> UcxMemory::Create(std::shared_ptr<UcxContext> context,
                                                          std::size_t bytes, bool remote) {
  if (bytes == 0) return absl::InvalidArgumentError("cannot register 0 bytes");
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.length = bytes + kMemoryAlignment;
  params.flags = UCP_MEM_MAP_ALLOCATE;
  ucp_mem_h handle = nullptr;
  const ucs_status_t status = ucp_mem_map(context->get(), &params, &handle);
  if (status != UCS_OK) return MapError(status, bytes);
  std::unique_ptr<UcxMemory> memory(new UcxMemory(std::move(context), handle));

  ucp_mem_attr_t attributes{};
  attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  WEIR_RETURN_IF_ERROR(FromUcs(ucp_mem_query(handle, &attributes), "asking for an address"));
  void* start = attributes.address;
  std::size_t room = params.length;
  std::align(kMemoryAlignment, bytes, start, room);
  // Touches every page now: the first touch of 64 MB costs 100 to 300 ms.
  std::memset(start, 0, bytes);
  memory->bytes_ = MutableByteSpan(static_cast<std::byte*>(start), bytes);
  if (remote) {
    WEIR_ASSIGN_OR_RETURN(memory->remote_key_,
                          PackUcxMemoryKey(memory->context_->get(), handle, memory->bytes_));
  }
  return memory;
}

UcxMemory::~UcxMemory() { ucp_mem_unmap(context_->get(), handle_); }

}  // namespace weir::net
