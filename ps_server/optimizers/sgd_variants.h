#pragma once

#include <cstddef>
#include <span>

namespace weir::ps {

/// One implementation of ApplySgd's loop, for the tests and benchmarks that compare them.
struct SgdVariant {
  const char* name;
  bool runs_here;  ///< whether this CPU has the instructions
  void (*apply)(const float* from, float* to, const std::byte* gradient, std::size_t elements,
                float learning_rate);
};

/// All that were built, the slowest ("scalar") first. ApplySgd takes the last that runs here.
std::span<const SgdVariant> SgdVariants();

}  // namespace weir::ps
