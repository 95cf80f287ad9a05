#pragma once

#include <array>
#include <cstddef>

namespace weir::testing {

/// A program that links this has operator new replaced by one that counts, by thread. Not counted
/// is what oneDNN asks for itself: it makes a small table of arguments in each
/// dnnl_primitive_execute, which no caller can avoid (tests/unit/nn/allocation_test.cc bounds
/// them).
inline constexpr std::size_t kMaxCountedThreads = 64;
/// By thread, in the order of their first allocations; others may be allocating meanwhile. Makes no
/// allocation. More threads than the limit end the program.
using AllocationCounts = std::array<long, kMaxCountedThreads>;
AllocationCounts AllocationsByThread();

/// Of the calling thread, since it started.
long AllocationsOfThisThread();

}  // namespace weir::testing
