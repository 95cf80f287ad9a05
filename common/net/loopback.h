#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/mutex.h"
#include "common/net/transport.h"

namespace weir::net {

class LoopbackPort;
class LoopbackStorage;

/// Connects transports of one process by queues, for tests. A transport's inbox holds
/// `inbox_capacity` messages; while it is full, sends to it wait at the sender, in order, with
/// their payloads borrowed. A transport's end is an OnPeerDown at those connected to it, after the
/// messages it had sent. Payloads arrive unaligned, as over tcp. Thread-safe.
class LoopbackFabric : public std::enable_shared_from_this<LoopbackFabric> {
 public:
  static constexpr std::size_t kInboxCapacity = 1024;

  static std::shared_ptr<LoopbackFabric> Create(std::size_t inbox_capacity = kInboxCapacity);

  /// A new transport, which keeps the fabric alive. Its address is good within this fabric only.
  std::unique_ptr<Transport> CreateTransport();

 private:
  friend class LoopbackTransport;

  explicit LoopbackFabric(std::size_t inbox_capacity) : inbox_capacity_(inbox_capacity) {}
  // Null when it is gone, or never was.
  std::shared_ptr<LoopbackPort> FindPort(std::uint32_t number);
  void RemovePort(std::uint32_t number);
  // The key by which `storage` is found as long as somebody holds it.
  std::string AddStorage(const std::shared_ptr<LoopbackStorage>& storage);
  std::shared_ptr<LoopbackStorage> FindStorage(const std::string& key);

  const std::size_t inbox_capacity_;
  Mutex mutex_;
  std::uint32_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::uint32_t, std::shared_ptr<LoopbackPort>> ports_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t last_storage_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, std::weak_ptr<LoopbackStorage>> storages_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir::net
