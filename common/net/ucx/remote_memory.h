#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/net/transport.h"

namespace weir::net {

/// An unpacked rkey. Released into the UCP worker of the endpoint that it came by, which therefore
/// must outlive it.
class UcxRemoteKey {
 public:
  explicit UcxRemoteKey(ucp_rkey_h rkey) : rkey_(rkey) {}
  ~UcxRemoteKey() { ucp_rkey_destroy(rkey_); }
  UcxRemoteKey(const UcxRemoteKey&) = delete;
  UcxRemoteKey& operator=(const UcxRemoteKey&) = delete;
  ucp_rkey_h get() const { return rkey_; }

 private:
  const ucp_rkey_h rkey_;
};

/// A peer's memory for ucp_get_nbx.
class UcxRemoteMemory final : public RemoteMemory {
 public:
  /// `owner` is the peer of `endpoint`, and `name` its name, for errors, which are
  /// Transport::Open's.
  static absl::StatusOr<std::unique_ptr<RemoteMemory>> Create(PeerId owner, ucp_ep_h endpoint,
                                                              const std::string& key,
                                                              std::size_t bytes,
                                                              const std::string& name);

  std::size_t size() const override { return size_; }
  PeerId owner() const { return owner_; }
  /// Of the first byte, in the owner's process.
  std::uint64_t address() const { return address_; }
  /// Shared with the gets that are under way.
  const std::shared_ptr<const UcxRemoteKey>& key() const { return key_; }

 private:
  UcxRemoteMemory(PeerId owner, std::shared_ptr<const UcxRemoteKey> key, std::uint64_t address,
                  std::size_t size)
      : owner_(owner), key_(std::move(key)), address_(address), size_(size) {}

  const PeerId owner_;
  const std::shared_ptr<const UcxRemoteKey> key_;
  const std::uint64_t address_;
  const std::size_t size_;
};

}  // namespace weir::net
