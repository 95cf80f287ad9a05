#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

namespace weir {

/// Bytes that grow. Unlike a vector it neither zeroes what is about to be overwritten nor copies
/// large blocks when it grows (realloc moves their pages): 47 MB of pixels are touched once.
class ByteBuffer {
 public:
  const std::uint8_t* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }

  /// Makes the size `size`, at least the present one; the new bytes hold nothing of meaning.
  /// False, and unchanged, where there is no memory.
  bool Grow(std::size_t size) {
    void* const grown = std::realloc(bytes_.get(), size);
    if (grown == nullptr) return false;
    (void)bytes_.release();
    bytes_.reset(static_cast<std::uint8_t*>(grown));
    size_ = size;
    return true;
  }
  /// The bytes from `begin` on.
  std::span<std::uint8_t> tail(std::size_t begin) { return {bytes_.get() + begin, size_ - begin}; }

 private:
  struct Free {
    void operator()(std::uint8_t* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::uint8_t[], Free> bytes_;
  std::size_t size_ = 0;
};

}  // namespace weir
