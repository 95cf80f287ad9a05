#include "bench/bare_primitives.h"

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/nn/max_pool.h"
#include "worker/nn/narrow_conv.h"
#include "worker/nn/op.h"

namespace weir::nn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;
constexpr memory::dim kBatch = 256;
constexpr std::pair<const char*, Tag> kLayouts[] = {
    {"nchw", Tag::nchw}, {"nhwc", Tag::nhwc}, {"nChw8c", Tag::nChw8c}, {"nChw16c", Tag::nChw16c}};
const Window kThreeByThree = {{3, 3}, {1, 1}, {0, 0}, {0, 0}};
const Window kTwoByTwo = {{2, 2}, {2, 2}, {0, 0}, {0, 0}};

}  // namespace

BarePrimitives::BarePrimitives() {
  for (const auto& [name, tag] : kLayouts) {
    AddConvolution(name, tag);
    AddPooling(name, tag);
  }
  for (const auto& [name, in, out] :
       {std::tuple{"dense 5408x64", 5408, 64}, std::tuple{"dense 64x10", 64, 10}}) {
    AddInnerProduct(name, in, out, "any", Tag::any);
    AddInnerProduct(name, in, out, "plain", Tag::io);
    AddMatmul(name, in, out);
  }
  AddOwn();
}

memory BarePrimitives::New(const memory::desc& desc) {
  const std::size_t size = desc.get_size();
  memory made(desc, engine_, buffers_.Take(size));
  auto* const bytes = static_cast<unsigned char*>(made.get_data_handle());
  const bool floats = desc.data_type() == kF32;
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::size_t i = 0; i < size; i += floats ? sizeof(float) : 1) {
    if (floats) *reinterpret_cast<float*>(bytes + i) = uniform(random_);
    if (!floats) bytes[i] = 0;
  }
  return made;
}

void BarePrimitives::Add(const std::string& operation, const std::string& layout,
                         const dnnl::primitive_desc_base& desc, const dnnl::primitive& primitive,
                         const Arguments& arguments) {
  if (IsReference(desc)) return;
  candidates_.push_back({operation, absl::StrCat(layout, " ", desc.impl_info_str()), true,
                         [this, primitive, arguments] { primitive.execute(stream_, arguments); }});
}

void BarePrimitives::AddConvolution(const std::string& layout, Tag tag) {
  const auto direct = dnnl::algorithm::convolution_direct;
  const memory::desc source({kBatch, 1, 28, 28}, kF32, Tag::nchw);
  const memory::desc kernel({32, 1, 3, 3}, kF32, Tag::any);
  const memory::desc bias({32}, kF32, Tag::x);
  const memory::desc result({kBatch, 32, 26, 26}, kF32, tag);
  const dnnl::convolution_forward::primitive_desc forward({dnnl::prop_kind::forward_training,
                                                           direct,
                                                           source,
                                                           kernel,
                                                           bias,
                                                           result,
                                                           {1, 1},
                                                           {0, 0},
                                                           {0, 0}},
                                                          engine_);
  const memory input = New(source), output = New(result), biases = New(bias);
  Add("conv forward", layout, forward, dnnl::convolution_forward(forward),
      {{DNNL_ARG_SRC, input},
       {DNNL_ARG_WEIGHTS, New(forward.weights_desc())},
       {DNNL_ARG_BIAS, biases},
       {DNNL_ARG_DST, output}});
  const dnnl::convolution_backward_weights::primitive_desc backward(
      {direct, source, kernel, bias, result, {1, 1}, {0, 0}, {0, 0}}, engine_, forward);
  Add("conv backward weights", layout, backward, dnnl::convolution_backward_weights(backward),
      {{DNNL_ARG_SRC, input},
       {DNNL_ARG_DIFF_DST, output},
       {DNNL_ARG_DIFF_WEIGHTS, New(backward.diff_weights_desc())},
       {DNNL_ARG_DIFF_BIAS, biases}});
}

void BarePrimitives::AddPooling(const std::string& layout, Tag tag) {
  const auto max = dnnl::algorithm::pooling_max;
  const memory::desc source({kBatch, 32, 26, 26}, kF32, tag);
  const memory::desc any({kBatch, 32, 13, 13}, kF32, Tag::any);
  const dnnl::pooling_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, max, source, any, {2, 2}, {2, 2}, {0, 0}, {0, 0}},
      engine_);
  const memory image = New(source), pooled = New(forward.dst_desc());
  const memory workspace = New(forward.workspace_desc());
  Add("max-pool forward", layout, forward, dnnl::pooling_forward(forward),
      {{DNNL_ARG_SRC, image}, {DNNL_ARG_DST, pooled}, {DNNL_ARG_WORKSPACE, workspace}});
  const dnnl::pooling_backward::primitive_desc backward(
      {max, source, forward.dst_desc(), {2, 2}, {2, 2}, {0, 0}, {0, 0}}, engine_, forward);
  Add("max-pool backward", layout, backward, dnnl::pooling_backward(backward),
      {{DNNL_ARG_DIFF_SRC, image}, {DNNL_ARG_DIFF_DST, pooled}, {DNNL_ARG_WORKSPACE, workspace}});
}

void BarePrimitives::AddInnerProduct(const std::string& name, memory::dim in, memory::dim out,
                                     const std::string& layout, Tag kernel_tag) {
  const memory::desc source({kBatch, in}, kF32, Tag::nc);
  const memory::desc kernel({out, in}, kF32, kernel_tag);
  const memory::desc bias({out}, kF32, Tag::x);
  const memory::desc result({kBatch, out}, kF32, Tag::nc);
  const dnnl::inner_product_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, source, kernel, bias, result}, engine_);
  const memory input = New(source), output = New(result), biases = New(bias);
  Add(name + " forward", layout, forward, dnnl::inner_product_forward(forward),
      {{DNNL_ARG_SRC, input},
       {DNNL_ARG_WEIGHTS, New(forward.weights_desc())},
       {DNNL_ARG_BIAS, biases},
       {DNNL_ARG_DST, output}});
  const dnnl::inner_product_backward_weights::primitive_desc weights({source, kernel, bias, result},
                                                                     engine_, forward);
  Add(name + " backward weights", layout, weights, dnnl::inner_product_backward_weights(weights),
      {{DNNL_ARG_SRC, input},
       {DNNL_ARG_DIFF_DST, output},
       {DNNL_ARG_DIFF_WEIGHTS, New(weights.diff_weights_desc())},
       {DNNL_ARG_DIFF_BIAS, biases}});
  const dnnl::inner_product_backward_data::primitive_desc data({source, kernel, result}, engine_,
                                                               forward);
  Add(name + " backward data", layout, data, dnnl::inner_product_backward_data(data),
      {{DNNL_ARG_DIFF_DST, output},
       {DNNL_ARG_WEIGHTS, New(data.weights_desc())},
       {DNNL_ARG_DIFF_SRC, input}});
}

// (The gradient by the weights only without the bias's: the inner product does both.)
void BarePrimitives::AddMatmul(const std::string& name, memory::dim in, memory::dim out) {
  const memory::desc source({kBatch, in}, kF32, Tag::ab);
  const memory::desc kernel({in, out}, kF32, Tag::ab);
  const memory::desc transposed({out, in}, kF32, Tag::ba);
  const memory::desc bias({1, out}, kF32, Tag::ab);
  const memory::desc result({kBatch, out}, kF32, Tag::ab);
  const memory input = New(source), weights = New(kernel), output = New(result);
  const dnnl::matmul::primitive_desc forward({source, kernel, bias, result}, engine_);
  Add(name + " forward", "matmul", forward, dnnl::matmul(forward),
      {{DNNL_ARG_SRC, input},
       {DNNL_ARG_WEIGHTS, weights},
       {DNNL_ARG_BIAS, New(bias)},
       {DNNL_ARG_DST, output}});
  const dnnl::matmul::primitive_desc data({result, transposed, source}, engine_);
  Add(name + " backward data", "matmul", data, dnnl::matmul(data),
      {{DNNL_ARG_SRC, output}, {DNNL_ARG_WEIGHTS, New(transposed)}, {DNNL_ARG_DST, input}});
}

void BarePrimitives::AddOwn() {
  const auto floats = [](const memory& memory) {
    return static_cast<float*>(memory.get_data_handle());
  };
  const auto add = [this](const std::string& operation, std::function<void()> run) {
    candidates_.push_back({operation, "weir nChw8c", false, std::move(run)});
  };
  const ImageLayout source = {28, 28, 1, 1}, image = {26, 26, 32, 8}, pooled = {13, 13, 32, 8};
  const memory input = New({{kBatch, 1, 28, 28}, kF32, Tag::nchw});
  const memory output = New({{kBatch, 32, 26, 26}, kF32, Tag::nChw8c});
  const memory small = New({{kBatch, 32, 13, 13}, kF32, Tag::nChw8c});
  const memory kernel = New({{32, 1, 3, 3}, kF32, Tag::hwio}), bias = New({{32}, kF32, Tag::x});
  const memory positions = New({{kBatch * pooled.floats()}, memory::data_type::s32, Tag::x});
  const auto gradient = std::make_shared<NarrowConvGradient>(source, image, kThreeByThree);
  const MaxPool pool{.in = image, .out = pooled, .window = kTwoByTwo, .relu = false};
  auto* const at = static_cast<std::int32_t*>(positions.get_data_handle());
  add("conv backward weights",
      [=] { gradient->Run(kBatch, floats(input), floats(output), floats(kernel), floats(bias)); });
  add("max-pool forward",
      [=, keep = positions] { pool.Forward(kBatch, floats(output), floats(small), at); });
  add("max-pool backward",
      [=, keep = positions] { pool.Backward(kBatch, floats(small), at, floats(output)); });
}

}  // namespace weir::nn
