#pragma once

#include <cstdint>
#include <memory>

#include "common/base/bytes.h"

namespace weir {

/// XXH3, 64 bits, seed 0: finds corruption, not forgery.
std::uint64_t Checksum(ByteSpan bytes);

/// The same checksum over bytes that arrive in pieces. Movable; a moved-from one is not usable.
class RunningChecksum {
 public:
  RunningChecksum();
  void Append(ByteSpan bytes);
  /// Of all bytes so far; more may follow.
  std::uint64_t value() const;

 private:
  struct Free {
    void operator()(void* state) const;
  };
  std::unique_ptr<void, Free> state_;
};

}  // namespace weir
