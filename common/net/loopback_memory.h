#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "common/net/transport.h"

namespace weir::net {

/// Bytes that live as long as somebody of their owner and those who mapped them does.
class LoopbackStorage {
 public:
  explicit LoopbackStorage(std::size_t bytes)
      : bytes_(static_cast<std::byte*>(::operator new(bytes, kAlignment)), bytes) {
    std::memset(bytes_.data(), 0, bytes);
  }
  ~LoopbackStorage() { ::operator delete(bytes_.data(), kAlignment); }
  LoopbackStorage(const LoopbackStorage&) = delete;
  LoopbackStorage& operator=(const LoopbackStorage&) = delete;
  MutableByteSpan bytes() { return bytes_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  MutableByteSpan bytes_;
};

class LoopbackMemory final : public Memory {
 public:
  LoopbackMemory(std::shared_ptr<LoopbackStorage> storage, std::string key)
      : storage_(std::move(storage)), key_(std::move(key)) {}
  MutableByteSpan bytes() override { return storage_->bytes(); }
  const std::string& remote_key() const override { return key_; }

 private:
  const std::shared_ptr<LoopbackStorage> storage_;
  const std::string key_;
};

class LoopbackMappedMemory final : public MappedMemory {
 public:
  LoopbackMappedMemory(std::shared_ptr<LoopbackStorage> storage, std::size_t bytes)
      : storage_(std::move(storage)), bytes_(storage_->bytes().first(bytes)) {}
  MutableByteSpan bytes() override { return bytes_; }
  bool Prefault(std::size_t) override { return false; }  // they are this process's own

 private:
  const std::shared_ptr<LoopbackStorage> storage_;
  const MutableByteSpan bytes_;
};

/// Ends with its storage, as registered memory does with its owner.
class LoopbackRemoteMemory final : public RemoteMemory {
 public:
  LoopbackRemoteMemory(PeerId owner, std::weak_ptr<LoopbackStorage> storage, std::size_t size)
      : owner_(owner), storage_(std::move(storage)), size_(size) {}
  std::size_t size() const override { return size_; }
  PeerId owner() const { return owner_; }
  const std::weak_ptr<LoopbackStorage>& storage() const { return storage_; }

 private:
  const PeerId owner_;
  const std::weak_ptr<LoopbackStorage> storage_;
  const std::size_t size_;
};

}  // namespace weir::net
