#include "worker/nn/buffers.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace weir::nn {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t RoundUp(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

void* Allocate(std::size_t bytes) {
  const std::size_t unit = bytes >= kHugePage ? kHugePage : kCacheLine;
  void* memory = std::aligned_alloc(unit, RoundUp(bytes, unit));
  if (memory == nullptr) throw std::bad_alloc();
  // Only advice: without huge pages it is just slower.
  if (unit == kHugePage) madvise(memory, RoundUp(bytes, unit), MADV_HUGEPAGE);
  std::memset(memory, 0, bytes);
  return memory;
}

}  // namespace

void Buffers::Free::operator()(void* memory) const { std::free(memory); }

void* Buffers::Take(std::size_t bytes) {
  if (bytes == 0) bytes = kCacheLine;
  while (next_ < buffers_.size()) {
    Buffer& buffer = buffers_[next_++];
    if (buffer.bytes >= bytes) return buffer.memory.get();
  }
  std::unique_ptr<void, Free> memory(Allocate(bytes));
  buffers_.push_back({.memory = std::move(memory), .bytes = bytes});
  next_ = buffers_.size();
  return buffers_.back().memory.get();
}

}  // namespace weir::nn
