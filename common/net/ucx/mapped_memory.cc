#include "common/net/ucx/mapped_memory.h"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/net/ucx/memory.h"
#include "common/net/ucx/memory_key.h"
#include "common/net/ucx/status.h"

namespace weir::net {
namespace {

constexpr std::size_t kPageBytes = 4096;

absl::Status CannotMap(ucs_status_t status, const std::string& name) {
  return absl::UnavailableError(absl::StrCat(
      FromUcs(status, absl::StrCat("mapping memory of ", name)).message(),
      ": it is on another host, in another IPC namespace (containers) or of another user, or its "
      "memory is not shared (look at kernel.shmmax, kernel.shmall, and ipcs -l, where it runs)"));
}

// UCX attaches a whole segment, whatever its length, and the peer's word for that must not be what
// keeps a read from crashing this process.
bool LiesInOneMapping(MutableByteSpan bytes) {
  const auto start = reinterpret_cast<std::uintptr_t>(bytes.data());
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    std::uintptr_t first = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &first, &end) != 2) continue;
    if (start >= first && start < end) return bytes.size() <= end - start;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MappedMemory>> UcxMappedMemory::Create(ucp_ep_h endpoint,
                                                                      const std::string& key,
                                                                      std::size_t bytes,
                                                                      const std::string& name) {
  WEIR_ASSIGN_OR_RETURN(const UcxMemoryKey unpacked, UnpackUcxMemoryKey(key));
  if (bytes == 0 || bytes > unpacked.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory of ", name, " of ", unpacked.bytes, " bytes is said to have ", bytes));
  }
  ucp_rkey_h rkey = nullptr;
  ucs_status_t status = ucp_ep_rkey_unpack(endpoint, unpacked.rkey.data(), &rkey);
  if (status != UCS_OK) return CannotMap(status, name);
  std::unique_ptr<UcxMappedMemory> mapped(new UcxMappedMemory(rkey));
  void* here = nullptr;
  status = ucp_rkey_ptr(rkey, unpacked.address, &here);
  if (status != UCS_OK) return CannotMap(status, name);
  mapped->bytes_ = MutableByteSpan(static_cast<std::byte*>(here), bytes);
  if (reinterpret_cast<std::uintptr_t>(here) % kMemoryAlignment != 0 ||
      !LiesInOneMapping(mapped->bytes_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory of ", name, " has not the ", bytes, " bytes that it is said to have"));
  }
  return mapped;
}

// Or the first read runs at the speed of page faults, below 1 GB/s.
bool UcxMappedMemory::Prefault(std::size_t bytes) {
  const volatile std::byte* const first = bytes_.data();
  const std::size_t end = touched_ + std::min(bytes, bytes_.size() - touched_);
  for (; touched_ < end; touched_ += kPageBytes) {
    [[maybe_unused]] const std::byte touched = first[touched_];
  }
  touched_ = std::min(touched_, bytes_.size());
  return touched_ < bytes_.size();
}

UcxMappedMemory::~UcxMappedMemory() { ucp_rkey_destroy(rkey_); }

}  // namespace weir::net
