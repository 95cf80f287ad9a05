#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace weir::nn {

/// Memory for activations. Plans of different batch sizes run one at a time, so after Rewind the
/// next plan gets the buffers of the one before. A buffer lives as long as this object and never
/// moves. Not thread-safe.
class Buffers {
 public:
  void Rewind() { next_ = 0; }
  /// At least `bytes`, aligned to a cache line. Throws std::bad_alloc.
  void* Take(std::size_t bytes);

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  struct Buffer {
    std::unique_ptr<void, Free> memory;
    std::size_t bytes;
  };
  std::vector<Buffer> buffers_;
  std::size_t next_ = 0;
};

}  // namespace weir::nn
