#include "worker/nn/step.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"

namespace weir::nn {
namespace {

using Shape = std::vector<std::int64_t>;

std::string Text(const Shape& shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

template <typename... Parts>
absl::Status Misfit(const Step& step, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("layer '", step.name, "': ", parts...));
}

absl::Status NeedsImage(const Step& step) {
  if (step.in.size() == 3) return absl::OkStatus();
  return Misfit(step, "needs an input [height, width, channels], but gets ", Text(step.in),
                "; put it before Flatten, or give Sequential the image's shape");
}

absl::Status FitAxis(Step& step, int axis, Padding padding) {
  Window& window = step.window;
  const std::int64_t in = step.in[axis];
  const std::int64_t size = window.size[axis];
  const std::int64_t stride = window.stride[axis];
  const char* const what = axis == 0 ? "height" : "width";
  if (size < 1 || stride < 1) {
    return Misfit(step, "window and stride must be at least 1, but along the ", what, " they are ",
                  size, " and ", stride);
  }
  if (padding == Padding::kSame) {
    step.out[axis] = (in + stride - 1) / stride;
    const std::int64_t pad = std::max<std::int64_t>(0, (step.out[axis] - 1) * stride + size - in);
    window.pad_before[axis] = pad / 2;
    window.pad_after[axis] = pad - pad / 2;
    return absl::OkStatus();
  }
  if (size > in) {
    return Misfit(step, "a window of ", what, " ", size, " does not fit into the input ",
                  Text(step.in), "; use a smaller window or Padding::kSame");
  }
  step.out[axis] = (in - size) / stride + 1;
  return absl::OkStatus();
}

absl::Status FitWindow(Step& step, Size2D size, Size2D stride, Padding padding) {
  WEIR_RETURN_IF_ERROR(NeedsImage(step));
  step.window = {.size = {size.height, size.width}, .stride = {stride.height, stride.width}};
  step.out = step.in;
  WEIR_RETURN_IF_ERROR(FitAxis(step, 0, padding));
  return FitAxis(step, 1, padding);
}

absl::Status Fit(const Conv2D& layer, Step& step) {
  step.kind = Step::Kind::kConv;
  step.fused_relu = layer.activation == Activation::kRelu;
  if (layer.filters < 1) return Misfit(step, "filters must be at least 1, not ", layer.filters);
  WEIR_RETURN_IF_ERROR(FitWindow(step, layer.kernel, layer.stride, layer.padding));
  step.out[2] = layer.filters;
  return absl::OkStatus();
}

absl::Status Fit(const MaxPool2D& layer, Step& step) {
  step.kind = Step::Kind::kPool;
  const bool as_pool = layer.stride.height == 0 && layer.stride.width == 0;
  return FitWindow(step, layer.pool, as_pool ? layer.pool : layer.stride, layer.padding);
}

absl::Status Fit(const ReLU& /*layer*/, Step& step) {
  step.kind = Step::Kind::kRelu;
  step.out = step.in;
  return absl::OkStatus();
}

absl::Status Fit(const Flatten& /*layer*/, Step& step) {
  step.kind = Step::Kind::kFlatten;
  std::int64_t product = 1;
  for (const std::int64_t dimension : step.in) product *= dimension;
  step.out = {product};
  return absl::OkStatus();
}

absl::Status Fit(const Dense& layer, Step& step) {
  step.kind = Step::Kind::kDense;
  step.fused_relu = layer.activation == Activation::kRelu;
  if (layer.units < 1) return Misfit(step, "units must be at least 1, not ", layer.units);
  if (step.in.size() != 1) {
    return Misfit(step, "needs a flat input, but gets ", Text(step.in), "; add Flatten before it");
  }
  step.out = {layer.units};
  return absl::OkStatus();
}

// oneDNN indexes some tensors with 32 bits.
absl::Status CheckSize(const Step& step, const Shape& shape) {
  std::int64_t room = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t dimension : shape) room /= std::max<std::int64_t>(1, dimension);
  if (room > 0) return absl::OkStatus();
  return Misfit(step, "a tensor of shape ", Text(shape), " has more than 2^31 elements");
}

}  // namespace

std::string KerasName(const Layer& layer) {
  constexpr const char* kNames[] = {"conv2d", "max_pooling2d", "re_lu", "flatten", "dense"};
  return kNames[layer.index()];
}

absl::StatusOr<Step> MakeStep(const Layer& layer, std::string name, std::vector<std::int64_t> in) {
  Step step{.kind = Step::Kind::kRelu, .name = std::move(name), .in = std::move(in)};
  WEIR_RETURN_IF_ERROR(std::visit([&](const auto& kind) { return Fit(kind, step); }, layer));
  WEIR_RETURN_IF_ERROR(CheckSize(step, step.out));
  for (const TensorSpec& tensor : TensorsOf(step)) {
    WEIR_RETURN_IF_ERROR(CheckSize(step, tensor.shape));
  }
  return step;
}

std::vector<TensorSpec> TensorsOf(const Step& step) {
  if (!step.has_parameters()) return {};
  std::vector<std::int64_t> kernel = {step.in.back(), step.out.back()};
  if (step.kind == Step::Kind::kConv) {
    kernel.insert(kernel.begin(), {step.window.size[0], step.window.size[1]});
  }
  return {{.name = step.name + "/kernel",
           .shape = std::move(kernel),
           .initializer = Initializer::kGlorotUniform},
          {.name = step.name + "/bias", .shape = {step.out.back()}}};
}

std::vector<Step> Schedule(const std::vector<Step>& steps) {
  using Kind = Step::Kind;
  std::vector<Step> order;
  for (const Step& step : steps) {
    order.push_back(step);
    if (step.has_parameters() && step.fused_relu) {
      order.back().fused_relu = false;
      order.push_back({.kind = Kind::kRelu, .name = step.name, .in = step.out, .out = step.out});
    }
    // max(relu(x)) is relu(max(x)), and so are the gradients: where the maximum is positive both
    // send it to the same pixel, elsewhere both are zero. It is a quarter of the work for a 2x2
    // pool.
    for (std::size_t i = order.size(); i-- > 1;) {
      if (order[i].kind != Kind::kPool || order[i - 1].kind != Kind::kRelu) continue;
      std::swap(order[i], order[i - 1]);
      order[i].in = order[i].out = order[i - 1].out;
    }
  }
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i].kind != Kind::kRelu || !order[i - 1].has_parameters()) continue;
    order[i].fused_relu = order[i - 1].fused_relu = true;
  }
  return order;
}

}  // namespace weir::nn
