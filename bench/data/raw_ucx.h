#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/bytes.h"
#include "common/net/ucx/options.h"

namespace weir::bench {

/// A UCX context, its one worker, and memory of it to move bytes from and to: only what control.cc
/// needs. Threads: one.
class RawUcx {
 public:
  /// `bytes` > 0 of memory.
  static absl::StatusOr<std::unique_ptr<RawUcx>> Create(net::UcxFabric fabric, std::size_t bytes);
  ~RawUcx();
  RawUcx(const RawUcx&) = delete;
  RawUcx& operator=(const RawUcx&) = delete;

  ucp_worker_h worker() const { return worker_; }
  ucp_mem_h memory_handle() const { return memory_; }
  MutableByteSpan memory() const { return bytes_; }

  absl::Status Handle(unsigned id, ucp_am_recv_callback_t callback, void* argument);
  /// Its worker's address, and the key to its memory: bytes.
  absl::StatusOr<std::string> Address() const;
  absl::StatusOr<std::string> MemoryKey() const;

 private:
  RawUcx() = default;
  absl::Status Allocate(std::size_t bytes);
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_mem_h memory_ = nullptr;
  MutableByteSpan bytes_;
};

}  // namespace weir::bench
