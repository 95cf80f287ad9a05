#pragma once

#include <cstdint>
#include <cstring>

// Inside worker/nn only: eight floats at once, for kernels that are compiled for several
// instruction sets (WEIR_NN_MULTIVERSION); where registers are narrower the compiler splits them.
// A kernel is a template of a width's types, so that the same text serves a remainder of single
// floats.

#if defined(__x86_64__) && defined(__ELF__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
/// Compiles a function for each of these and picks one when the program is loaded. (Not under a
/// sanitizer, whose runtime is not up yet when that happens.)
#define WEIR_NN_MULTIVERSION \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WEIR_NN_MULTIVERSION
#endif
/// What such a function calls must become part of it.
#define WEIR_NN_INLINE [[gnu::always_inline]] inline

namespace weir::nn {

struct EightLanes {
  static constexpr int kCount = 8;
  using Float [[gnu::vector_size(32)]] = float;
  using Int [[gnu::vector_size(32)]] = std::int32_t;
};

struct OneLane {
  static constexpr int kCount = 1;
  using Float = float;
  using Int = std::int32_t;
};

}  // namespace weir::nn
