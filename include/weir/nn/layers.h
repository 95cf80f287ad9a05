#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace weir::nn {

enum class Activation : std::uint8_t { kLinear, kRelu };

enum class Padding : std::uint8_t {
  kValid,  ///< windows lie inside the image
  /// Keras's "same": ceil(in / stride) windows, the odd pixel of padding at the bottom and right.
  kSame,
};

/// Height and width; `3` stands for {3, 3}.
struct Size2D {
  int height;
  int width;
  constexpr Size2D(int side) : height(side), width(side) {}  // NOLINT(google-explicit-constructor)
  constexpr Size2D(int height, int width) : height(height), width(width) {}
};

// The layers mean what Keras's layers of the same names mean, and their tensors have Keras's names
// and layouts. An empty `name` stands for Keras's own: "conv2d", "conv2d_1", "dense", ...

/// Input and output [height, width, channels]. Tensors: NAME/kernel [height, width, in, filters],
/// NAME/bias [filters].
struct Conv2D {
  std::int64_t filters = 0;
  Size2D kernel = 3;
  Size2D stride = 1;
  Padding padding = Padding::kValid;
  Activation activation = Activation::kLinear;
  std::string name = {};
};

/// Input and output [height, width, channels]. Padding never wins over a pixel.
struct MaxPool2D {
  Size2D pool = 2;
  Size2D stride = 0;  ///< 0: as `pool`
  Padding padding = Padding::kValid;
  std::string name = {};
};

struct ReLU {
  std::string name = {};
};

/// Any shape to [product of its dimensions], row-major, channels last.
struct Flatten {
  std::string name = {};
};

/// Input [in], output [units]. Tensors: NAME/kernel [in, units], NAME/bias [units].
struct Dense {
  std::int64_t units = 0;
  Activation activation = Activation::kLinear;
  std::string name = {};
};

using Layer = std::variant<Conv2D, MaxPool2D, ReLU, Flatten, Dense>;

}  // namespace weir::nn
