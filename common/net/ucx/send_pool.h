#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/bytes.h"
#include "common/net/transport.h"

namespace weir::net {

struct UcxEndpoint;
class UcxTransport;

/// One send under way. The header lies here because UCX 1.13 reads it until the send completes.
struct SendOperation {
  alignas(64) std::array<std::byte, kMaxHeaderBytes> header;
  std::size_t header_bytes = 0;
  ByteSpan payload;
  ucp_mem_h memory = nullptr;  // null: the payload is not registered
  SendToken token;
  std::uint8_t type = 0;
  UcxEndpoint* endpoint = nullptr;  // null: not under way
  UcxTransport* transport = nullptr;
};

/// Hands out operations and takes them back; grows by slabs and never shrinks, so that a warm
/// transport sends without allocating. One thread.
class SendPool {
 public:
  SendOperation* Take() {
    if (free_.empty()) Grow();
    SendOperation* operation = free_.back();
    free_.pop_back();
    return operation;
  }
  /// `free_` has room for every operation there is.
  void Give(SendOperation* operation) {
    operation->endpoint = nullptr;
    free_.push_back(operation);
  }
  template <typename Visit>
  void ForEachUnderWay(Visit visit) {
    for (const auto& slab : slabs_) {
      for (SendOperation& operation : *slab) {
        if (operation.endpoint != nullptr) visit(operation);
      }
    }
  }

 private:
  static constexpr std::size_t kSlab = 64;
  using Slab = std::array<SendOperation, kSlab>;

  void Grow() {
    slabs_.push_back(std::make_unique<Slab>());
    free_.reserve(slabs_.size() * kSlab);
    for (SendOperation& operation : *slabs_.back()) free_.push_back(&operation);
  }

  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<SendOperation*> free_;
};

}  // namespace weir::net
