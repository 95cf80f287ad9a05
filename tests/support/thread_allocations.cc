#include "tests/support/thread_allocations.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace weir::testing {
namespace {

// Each is written by its own thread alone; others only read.
std::array<std::atomic<long>, kMaxCountedThreads> counts;
std::atomic<std::size_t> threads = 0;

std::atomic<long>& CountOfThisThread() {
  thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
  if (mine >= kMaxCountedThreads) std::abort();
  return counts[mine];
}

}  // namespace

AllocationCounts AllocationsByThread() {
  AllocationCounts now{};
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = counts[i].load(std::memory_order_relaxed);
  return now;
}

long AllocationsOfThisThread() { return CountOfThisThread().load(std::memory_order_relaxed); }

namespace {

void Count(const void* caller) {
  Dl_info info;
  const bool of_onednn = dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
                         std::strstr(info.dli_fname, "libdnnl") != nullptr;
  if (!of_onednn) CountOfThisThread().fetch_add(1, std::memory_order_relaxed);
}

void* Allocate(std::size_t bytes, const void* caller) {
  Count(caller);
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) std::abort();
  return memory;
}

void* Allocate(std::size_t bytes, std::align_val_t alignment, const void* caller) {
  Count(caller);
  const auto unit = static_cast<std::size_t>(alignment);
  void* const memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace
}  // namespace weir::testing

void* operator new(std::size_t bytes) {
  return weir::testing::Allocate(bytes, __builtin_return_address(0));
}
void* operator new[](std::size_t bytes) {
  return weir::testing::Allocate(bytes, __builtin_return_address(0));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return weir::testing::Allocate(bytes, alignment, __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return weir::testing::Allocate(bytes, alignment, __builtin_return_address(0));
}
// std::stable_sort's; unless replaced too, it would come from elsewhere and be freed here.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return weir::testing::Allocate(bytes, __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
