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

/// Memory that the processes of this host map by its remote_key (SysvMappedMemory).
class SysvMemory final : public Memory {
 public:
  /// `bytes` > 0 zeros, every page touched. Errors: Segment::Create's.
  static absl::StatusOr<std::unique_ptr<Memory>> Create(std::size_t bytes);

  MutableByteSpan bytes() override { return bytes_; }
  const std::string& remote_key() const override { return remote_key_; }

 private:
  SysvMemory(Segment segment, std::size_t bytes, std::string remote_key)
      : segment_(std::move(segment)),
        bytes_(segment_.bytes().first(bytes)),
        remote_key_(std::move(remote_key)) {}

  const Segment segment_;
  const MutableByteSpan bytes_;
  const std::string remote_key_;
};

}  // namespace weir::net
