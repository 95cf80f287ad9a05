#pragma once

#include <cstdint>

namespace weir::nn {

/// How the floats of one image lie: [group][row][column][lane], channels in groups of `block`
/// lanes. So nchw (block 1), nhwc (one group) and nChw8c alike.
struct ImageLayout {
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;
  std::int64_t block;

  std::int64_t groups() const { return (channels + block - 1) / block; }
  std::int64_t group_floats() const { return height * width * block; }
  std::int64_t floats() const { return groups() * group_floats(); }
};

}  // namespace weir::nn
