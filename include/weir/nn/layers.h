#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace weir::nn {

/// What follows a layer, element by element: nothing, or max(x, 0).
enum class Activation : std::uint8_t { kLinear, kRelu };

/// What lies around an image under a window.
enum class Padding : std::uint8_t {
  kValid,  ///< windows lie inside the image
  /// Keras's "same": ceil(in / stride) windows, the odd pixel of padding at the bottom and right.
  kSame,
};

/// Height and width; `3` stands for {3, 3}.
struct Size2D {
  int height;  ///< rows
  int width;   ///< columns
  /// A square.
  constexpr Size2D(int side) : height(side), width(side) {}  // NOLINT(google-explicit-constructor)
  /// Any rectangle.
  constexpr Size2D(int height, int width) : height(height), width(width) {}
};

// The layers mean what Keras's layers of the same names mean, and their tensors have Keras's names
// and layouts. An empty `name` stands for Keras's own: "conv2d", "conv2d_1", "dense", ...

/// Input and output [height, width, channels]. Tensors: NAME/kernel [height, width, in, filters],
/// NAME/bias [filters].
struct Conv2D {
  std::int64_t filters = 0;                     ///< output channels
  Size2D kernel = 3;                            ///< the window
  Size2D stride = 1;                            ///< from one window to the next
  Padding padding = Padding::kValid;            ///< around the image
  Activation activation = Activation::kLinear;  ///< of the output
  std::string name = {};                        ///< of its tensors; empty: Keras's
};

/// Input and output [height, width, channels]. Padding never wins over a pixel.
struct MaxPool2D {
  Size2D pool = 2;                    ///< the window
  Size2D stride = 0;                  ///< 0: as `pool`
  Padding padding = Padding::kValid;  ///< around the image
  std::string name = {};              ///< stands in errors; empty: Keras's
};

/// max(x, 0) of each element, of any shape.
struct ReLU {
  std::string name = {};  ///< stands in errors; empty: Keras's
};

/// Any shape to [product of its dimensions], row-major, channels last.
struct Flatten {
  std::string name = {};  ///< stands in errors; empty: Keras's
};

/// Input [in], output [units]. Tensors: NAME/kernel [in, units], NAME/bias [units].
struct Dense {
  std::int64_t units = 0;                       ///< outputs
  Activation activation = Activation::kLinear;  ///< of the output
  std::string name = {};                        ///< of its tensors; empty: Keras's
};

/// Any of them.
using Layer = std::variant<Conv2D, MaxPool2D, ReLU, Flatten, Dense>;

}  // namespace weir::nn
