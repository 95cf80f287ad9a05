#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/bytes.h"
#include "common/net/transport.h"
#include "common/net/ucx/context.h"

namespace weir::net {

/// Memory that UCX allocated and, over a fabric with one-sided reads, registered. Keeps its context
/// alive.
class UcxMemory final : public Memory {
 public:
  /// `remote`: with a remote_key, for peers to read it from afar.
  static absl::StatusOr<std::unique_ptr<Memory>> Create(std::shared_ptr<UcxContext> context,
                                                        std::size_t bytes, bool remote);
  ~UcxMemory() override;
  UcxMemory(const UcxMemory&) = delete;
  UcxMemory& operator=(const UcxMemory&) = delete;

  MutableByteSpan bytes() override { return bytes_; }
  ByteSpan view() const { return bytes_; }
  const std::string& remote_key() const override { return remote_key_; }
  ucp_mem_h handle() const { return handle_; }

 private:
  UcxMemory(std::shared_ptr<UcxContext> context, ucp_mem_h handle)
      : context_(std::move(context)), handle_(handle) {}

  std::shared_ptr<UcxContext> context_;
  ucp_mem_h handle_;
  MutableByteSpan bytes_;
  std::string remote_key_;
};

}  // namespace weir::net
