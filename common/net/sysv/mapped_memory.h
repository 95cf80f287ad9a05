#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/bytes.h"
#include "common/net/sysv/segment.h"
#include "common/net/transport.h"

namespace weir::net {

/// Another process's SysvMemory, mapped read-write.
class SysvMappedMemory final : public MappedMemory {
 public:
  /// The first `bytes` bytes of the memory that `key` names; `name` is its owner's, for errors,
  /// which are Transport::Map's.
  static absl::StatusOr<std::unique_ptr<MappedMemory>> Create(const std::string& key,
                                                              std::size_t bytes,
                                                              const std::string& name);

  MutableByteSpan bytes() override { return bytes_; }
  bool Prefault(std::size_t bytes) override;

 private:
  SysvMappedMemory(Segment segment, std::size_t bytes)
      : segment_(std::move(segment)), bytes_(segment_.bytes().first(bytes)) {}

  const Segment segment_;
  const MutableByteSpan bytes_;
  std::size_t touched_ = 0;  // bytes
};

}  // namespace weir::net
