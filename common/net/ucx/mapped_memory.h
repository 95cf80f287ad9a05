#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/bytes.h"
#include "common/net/transport.h"

namespace weir::net {

/// A peer's memory by ucp_rkey_ptr, mapped read-write; released through the UCP worker of the
/// endpoint that it came by, which therefore must outlive it.
class UcxMappedMemory final : public MappedMemory {
 public:
  /// `name` is the peer's, for errors, which are Transport::Map's.
  static absl::StatusOr<std::unique_ptr<MappedMemory>> Create(ucp_ep_h endpoint,
                                                              const std::string& key,
                                                              std::size_t bytes,
                                                              const std::string& name);
  ~UcxMappedMemory() override;
  UcxMappedMemory(const UcxMappedMemory&) = delete;
  UcxMappedMemory& operator=(const UcxMappedMemory&) = delete;

  MutableByteSpan bytes() override { return bytes_; }
  bool Prefault(std::size_t bytes) override;

 private:
  explicit UcxMappedMemory(ucp_rkey_h rkey) : rkey_(rkey) {}

  const ucp_rkey_h rkey_;
  MutableByteSpan bytes_;
  std::size_t touched_ = 0;  // bytes
};

}  // namespace weir::net
