#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "common/base/bytes.h"

#if defined(__SANITIZE_THREAD__)
#define WEIR_RACY_BY_ATOMICS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_RACY_BY_ATOMICS 1
#endif
#endif
#ifndef WEIR_RACY_BY_ATOMICS
#define WEIR_RACY_BY_ATOMICS 0
#endif

namespace weir {

// Every copy that races on purpose: of memory that its owner may be writing, kept or thrown away
// by what a version beside it says (common/arena). The C++ memory model knows no such copy, so it
// is a plain one between fences, as seqlocks are everywhere. ThreadSanitizer knows no fences: under
// it both sides move the bytes by relaxed atomics, so that it still sees every race but these.

/// Between a racy read and the load of the version that judges it.
inline void RacyReadFence() {
#if !WEIR_RACY_BY_ATOMICS
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

/// Between a store to a version and the racy writes that it warns of.
inline void RacyWriteFence() {
#if !WEIR_RACY_BY_ATOMICS
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

/// Copies `from`, which somebody may be writing: `to` may then be a mixture of old and new bytes.
inline void RacyRead(MutableByteSpan to, ByteSpan from) {
#if WEIR_RACY_BY_ATOMICS
  for (std::size_t i = 0; i < from.size(); ++i) {
    // Acquire, for want of a fence.
    to[i] = static_cast<std::byte>(
        __atomic_load_n(reinterpret_cast<const unsigned char*>(&from[i]), __ATOMIC_ACQUIRE));
  }
#else
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
#endif
}

/// Calls `write` with where it is to write all elements of `to`, which somebody may be reading by
/// RacyRead. Under ThreadSanitizer that is a scratch buffer, copied afterwards.
template <typename Write>
void RacyWrite(std::span<float> to, Write write) {
#if WEIR_RACY_BY_ATOMICS
  thread_local std::vector<float> scratch;
  scratch.resize(to.size());
  write(std::span<float>(scratch));
  const ByteSpan from = std::as_bytes(std::span<const float>(scratch));
  auto* const bytes = reinterpret_cast<unsigned char*>(to.data());
  for (std::size_t i = 0; i < from.size(); ++i) {
    __atomic_store_n(bytes + i, static_cast<unsigned char>(from[i]), __ATOMIC_RELEASE);
  }
#else
  write(to);
#endif
}

}  // namespace weir
