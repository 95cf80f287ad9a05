#include "worker/nn/max_pool.h"

#include <algorithm>
#include <cstring>

#include "worker/nn/lanes.h"

// oneDNN 2.6's pooling notes the positions with maskmovdqu on AVX2, past the cache: 17 ms forward
// and 14 ms backward for the tutorial's CNN at batch 256 (Zen 2), where this takes about 3 each.

namespace weir::nn {
namespace {

using Index = std::int64_t;

// The part of a window that lies inside the image, along one axis.
struct Span {
  Index first;  // in the window
  Index end;
  Index start;  // in the image, of the window's pixel 0; may be negative
};

WEIR_NN_INLINE Span Clip(Index position, Index in, Index size, Index stride, Index pad) {
  const Index start = position * stride - pad;
  return {start < 0 ? -start : 0, size < in - start ? size : in - start, start};
}

// One window of one group of channels.
struct Site {
  Span rows;
  Span columns;
  Index window_width;
  Index row_floats;  // of the input
  Index block;

  WEIR_NN_INLINE Index Offset(Index row, Index column) const {
    return (rows.start + row) * row_floats + (columns.start + column) * block;
  }
  WEIR_NN_INLINE std::int32_t Position(Index row, Index column) const {
    return static_cast<std::int32_t>(row * window_width + column);
  }
};

template <typename Lanes>
WEIR_NN_INLINE void PoolForward(const Site& site, bool relu, const float* input, float* output,
                                std::int32_t* positions) {
  using Float = typename Lanes::Float;
  using Int = typename Lanes::Int;
  Float best = {};
  Int position = Int{} - 1;
  if (!relu) {
    std::memcpy(&best, input + site.Offset(site.rows.first, site.columns.first), sizeof(best));
    position = Int{} + site.Position(site.rows.first, site.columns.first);
  }
  for (Index row = site.rows.first; row < site.rows.end; ++row) {
    for (Index column = site.columns.first; column < site.columns.end; ++column) {
      Float value;
      std::memcpy(&value, input + site.Offset(row, column), sizeof(value));
      const auto wins = (value > best) | (value != value);
      best = wins ? value : best;
      position = wins ? Int{} + site.Position(row, column) : position;
    }
  }
  std::memcpy(output, &best, sizeof(best));
  std::memcpy(positions, &position, sizeof(position));
}

template <typename Lanes, bool kOverlap>
WEIR_NN_INLINE void PoolBackward(const Site& site, const float* output_gradient,
                                 const std::int32_t* positions, float* input_gradient) {
  using Float = typename Lanes::Float;
  using Int = typename Lanes::Int;
  Float gradient;
  std::memcpy(&gradient, output_gradient, sizeof(gradient));
  Int position;
  std::memcpy(&position, positions, sizeof(position));
  for (Index row = site.rows.first; row < site.rows.end; ++row) {
    for (Index column = site.columns.first; column < site.columns.end; ++column) {
      float* const to = input_gradient + site.Offset(row, column);
      Float value = position == Int{} + site.Position(row, column) ? gradient : Float{};
      if constexpr (kOverlap) {
        Float before;
        std::memcpy(&before, to, sizeof(before));
        value += before;
      }
      std::memcpy(to, &value, sizeof(value));
    }
  }
}

// Kinds of pooling by how much the compiler knows. For the tutorial's CNN the second takes 3.6 ms
// forward on AVX2, the third 3.0.
enum class Kind : std::uint8_t {
  kAny,
  kPlain2x2,     // windows whole and side by side
  kPlain2x2By8,  // and groups of eight channels, all used
};

// Calls visit(lanes, site, offset into the input's group, offset into the output's image) for
// every window of one group, eight channels at a time.
template <Kind kKind, typename Visit>
WEIR_NN_INLINE void ForEachWindow(const MaxPool& pool, Index group, Visit visit) {
  const ImageLayout& in = pool.in;
  const ImageLayout& out = pool.out;
  const Window& window = pool.window;
  const bool as_in = in.block == out.block;
  const Index left = in.channels - group * in.block;
  const Index block = kKind == Kind::kPlain2x2By8 ? EightLanes::kCount : in.block;
  const Index lanes = kKind == Kind::kPlain2x2By8 || as_in || left > block ? block : left;
  const Index start = as_in ? group * out.group_floats() : group * block;
  for (Index row = 0; row < out.height; ++row) {
    for (Index column = 0; column < out.width; ++column) {
      Site site{{0, 2, 2 * row}, {0, 2, 2 * column}, 2, in.width * block, block};
      if constexpr (kKind == Kind::kAny) {
        site.rows = Clip(row, in.height, window.size[0], window.stride[0], window.pad_before[0]);
        site.columns =
            Clip(column, in.width, window.size[1], window.stride[1], window.pad_before[1]);
        site.window_width = window.size[1];
      }
      const Index to = start + (row * out.width + column) * out.block;
      Index lane = 0;
      for (; lane + EightLanes::kCount <= lanes; lane += EightLanes::kCount) {
        visit(EightLanes{}, site, lane, to + lane);
      }
      for (; lane < lanes; ++lane) visit(OneLane{}, site, lane, to + lane);
    }
  }
}

template <Kind kKind>
WEIR_NN_INLINE void ForwardGroup(const MaxPool& pool, Index group, const float* input,
                                 float* output, std::int32_t* positions) {
  const auto visit = [&](auto lanes, const Site& site, Index from, Index to)
      __attribute__((always_inline)) {
    PoolForward<decltype(lanes)>(site, pool.relu, input + from, output + to, positions + to);
  };
  ForEachWindow<kKind>(pool, group, visit);
}

template <Kind kKind, bool kOverlap>
WEIR_NN_INLINE void BackwardGroup(const MaxPool& pool, Index group, const float* output_gradient,
                                  const std::int32_t* positions, float* input_gradient) {
  const auto visit = [&](auto lanes, const Site& site, Index from, Index to)
      __attribute__((always_inline)) {
    PoolBackward<decltype(lanes), kOverlap>(site, output_gradient + to, positions + to,
                                            input_gradient + from);
  };
  ForEachWindow<kKind>(pool, group, visit);
}

WEIR_NN_INLINE bool IsPlain2x2(const Window& window) {
  for (const int axis : {0, 1}) {
    if (window.size[axis] != 2 || window.stride[axis] != 2) return false;
    if (window.pad_before[axis] != 0 || window.pad_after[axis] != 0) return false;
  }
  return true;
}

Kind KindOf(const MaxPool& pool) {
  if (!IsPlain2x2(pool.window)) return Kind::kAny;
  const bool by_8 = pool.in.block == EightLanes::kCount &&
                    (pool.out.block == pool.in.block || pool.in.channels % pool.in.block == 0);
  return by_8 ? Kind::kPlain2x2By8 : Kind::kPlain2x2;
}

bool Overlap(const Window& window) {
  return window.stride[0] < window.size[0] || window.stride[1] < window.size[1];
}

// Every pixel is in exactly one window, so none needs to be zeroed first.
bool Tiles(const MaxPool& pool) {
  return IsPlain2x2(pool.window) && pool.out.height * 2 == pool.in.height &&
         pool.out.width * 2 == pool.in.width;
}

WEIR_NN_MULTIVERSION void ForwardImage(const MaxPool& pool, Kind kind, const float* input,
                                       float* output, std::int32_t* positions) {
  const Index groups = pool.in.groups();
  for (Index group = 0; group < groups; ++group) {
    const float* const from = input + group * pool.in.group_floats();
    if (kind == Kind::kPlain2x2By8) {
      ForwardGroup<Kind::kPlain2x2By8>(pool, group, from, output, positions);
    } else if (kind == Kind::kPlain2x2) {
      ForwardGroup<Kind::kPlain2x2>(pool, group, from, output, positions);
    } else {
      ForwardGroup<Kind::kAny>(pool, group, from, output, positions);
    }
  }
}

WEIR_NN_MULTIVERSION void BackwardImage(const MaxPool& pool, Kind kind,
                                        const float* output_gradient, const std::int32_t* positions,
                                        float* input_gradient) {
  const bool overlap = Overlap(pool.window);
  const Index groups = pool.in.groups();
  for (Index group = 0; group < groups; ++group) {
    float* const to = input_gradient + group * pool.in.group_floats();
    if (kind == Kind::kPlain2x2By8) {
      BackwardGroup<Kind::kPlain2x2By8, false>(pool, group, output_gradient, positions, to);
    } else if (kind == Kind::kPlain2x2) {
      BackwardGroup<Kind::kPlain2x2, false>(pool, group, output_gradient, positions, to);
    } else if (overlap) {
      BackwardGroup<Kind::kAny, true>(pool, group, output_gradient, positions, to);
    } else {
      BackwardGroup<Kind::kAny, false>(pool, group, output_gradient, positions, to);
    }
  }
}

}  // namespace

void MaxPool::Forward(std::int64_t images, const float* input, float* output,
                      std::int32_t* positions) const {
  const Kind kind = KindOf(*this);
#pragma omp parallel for
  for (Index image = 0; image < images; ++image) {
    const Index to = image * out.floats();
    ForwardImage(*this, kind, input + image * in.floats(), output + to, positions + to);
  }
}

void MaxPool::Backward(std::int64_t images, const float* output_gradient,
                       const std::int32_t* positions, float* input_gradient) const {
  const Kind kind = KindOf(*this);
  const bool tiles = Tiles(*this);
#pragma omp parallel for
  for (Index image = 0; image < images; ++image) {
    float* const to = input_gradient + image * in.floats();
    if (!tiles) std::fill_n(to, in.floats(), 0.0F);
    const Index from = image * out.floats();
    BackwardImage(*this, kind, output_gradient + from, positions + from, to);
  }
}

}  // namespace weir::nn
