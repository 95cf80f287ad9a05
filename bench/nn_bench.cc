// The tutorial's CNN at batch 256 on one thread: a whole TrainStep beside the bare oneDNN
// primitives that it cannot do without, each on memory of its own, timed in the same run. Pin it
// (taskset -c 0) and compare the two; the table's "sum" is the control.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/model/initializer.h"
#include "weir/nn/sequential.h"
#include "worker/nn/threads.h"

namespace weir::nn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;
constexpr int kBatch = 256;

Sequential TutorialNet() {
  Sequential net({28, 28, 1});
  net.Add(Conv2D{.filters = 32, .kernel = 3, .activation = Activation::kRelu});
  net.Add(MaxPool2D{.pool = 2});
  net.Add(Flatten{});
  net.Add(Dense{.units = 64, .activation = Activation::kRelu});
  net.Add(Dense{.units = 10});
  return net;
}

struct TrainingData {
  TrainingData() {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(0, 1);
    for (float& f : features) f = uniform(random);
    for (std::int32_t& label : labels) label = static_cast<std::int32_t>(random() % 10);
    for (const TensorSpec& tensor : net.tensors()) {
      weights.emplace_back(static_cast<std::size_t>(tensor.elements()));
      InitializeTensor(tensor, 1, 0, weights.back());
      gradients.emplace_back(weights.back().size());
    }
    weight_views.assign(weights.begin(), weights.end());
    gradient_views.assign(gradients.begin(), gradients.end());
  }
  Batch batch() const { return {kBatch, features, labels}; }

  Sequential net = TutorialNet();
  std::vector<std::vector<float>> weights, gradients;
  std::vector<std::span<const float>> weight_views;
  std::vector<std::span<float>> gradient_views;
  std::vector<float> features = std::vector<float>(kBatch * 28 * 28);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(kBatch);
};

void TrainStep(benchmark::State& state) {
  TrainingData data;
  auto model = data.net.Compile(kBatch);
  if (!model.ok()) return state.SkipWithError(model.status().ToString().c_str());
  for (auto _ : state) {
    const auto loss = (*model)->TrainStep(data.batch(), data.weight_views, data.gradient_views);
    if (!loss.ok()) return state.SkipWithError(loss.status().ToString().c_str());
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

void Evaluate(benchmark::State& state) {
  TrainingData data;
  auto model = data.net.Compile(kBatch);
  if (!model.ok()) return state.SkipWithError(model.status().ToString().c_str());
  for (auto _ : state) {
    if (!(*model)->Evaluate(data.batch(), data.weight_views).ok()) {
      return state.SkipWithError("Evaluate failed");
    }
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

// Every primitive of the step, in the layouts that were measured as best (worker/nn says why).
class BarePrimitives {
 public:
  BarePrimitives() {
    AddConvolution();
    AddPooling();
    AddRelu("relu 13x13x32", {kBatch, 32, 13, 13}, Tag::nChw16c);
    AddReorders();
    AddDense("dense 5408x64", 5408, 64);
    AddRelu("relu 64", {kBatch, 64}, Tag::nc);
    AddDense("dense 64x10", 64, 10);
  }

  struct Named {
    std::string name;
    std::function<void()> run;
  };
  const std::vector<Named>& all() const { return primitives_; }

 private:
  using Arguments = std::unordered_map<int, memory>;

  memory New(const memory::desc& desc) {
    memory made(desc, engine_);
    auto* const bytes = static_cast<unsigned char*>(made.get_data_handle());
    const bool floats = desc.data_type() == kF32;
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::size_t i = 0; i < desc.get_size(); i += floats ? 4 : 1) {
      if (floats) *reinterpret_cast<float*>(bytes + i) = uniform(random_);
      if (!floats) bytes[i] = 0;
    }
    return made;
  }

  void Add(std::string name, const dnnl::primitive& primitive, const Arguments& arguments) {
    primitives_.push_back(
        {std::move(name), [this, primitive, arguments] { primitive.execute(stream_, arguments); }});
  }

  void AddConvolution() {
    const auto direct = dnnl::algorithm::convolution_direct;
    const memory::desc source({kBatch, 1, 28, 28}, kF32, Tag::nchw);
    const memory::desc kernel({32, 1, 3, 3}, kF32, Tag::any);
    const memory::desc bias({32}, kF32, Tag::x);
    const memory::desc result({kBatch, 32, 26, 26}, kF32, Tag::any);
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
    image_ = forward.dst_desc();
    const memory input = New(source), output = New(image_), biases = New(bias);
    Add("conv forward", dnnl::convolution_forward(forward),
        {{DNNL_ARG_SRC, input},
         {DNNL_ARG_WEIGHTS, New(forward.weights_desc())},
         {DNNL_ARG_BIAS, biases},
         {DNNL_ARG_DST, output}});
    const dnnl::convolution_backward_weights::primitive_desc backward(
        {direct, source, kernel, bias, image_, {1, 1}, {0, 0}, {0, 0}}, engine_, forward);
    Add("conv backward weights", dnnl::convolution_backward_weights(backward),
        {{DNNL_ARG_SRC, input},
         {DNNL_ARG_DIFF_DST, output},
         {DNNL_ARG_DIFF_WEIGHTS, New(backward.diff_weights_desc())},
         {DNNL_ARG_DIFF_BIAS, biases}});
  }

  void AddPooling() {
    const auto max = dnnl::algorithm::pooling_max;
    const memory::desc any({kBatch, 32, 13, 13}, kF32, Tag::any);
    const dnnl::pooling_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, max, image_, any, {2, 2}, {2, 2}, {0, 0}, {0, 0}},
        engine_);
    const memory image = New(image_), pooled = New(forward.dst_desc());
    const memory workspace = New(forward.workspace_desc());
    Add("max-pool forward", dnnl::pooling_forward(forward),
        {{DNNL_ARG_SRC, image}, {DNNL_ARG_DST, pooled}, {DNNL_ARG_WORKSPACE, workspace}});
    const dnnl::pooling_backward::primitive_desc backward(
        {max, image_, forward.dst_desc(), {2, 2}, {2, 2}, {0, 0}, {0, 0}}, engine_, forward);
    Add("max-pool backward", dnnl::pooling_backward(backward),
        {{DNNL_ARG_DIFF_SRC, image}, {DNNL_ARG_DIFF_DST, pooled}, {DNNL_ARG_WORKSPACE, workspace}});
  }

  void AddRelu(const std::string& name, const memory::dims& dims, Tag tag) {
    const memory::desc desc(dims, kF32, tag);
    const dnnl::eltwise_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, dnnl::algorithm::eltwise_relu, desc, 0.0F}, engine_);
    const memory data = New(desc), gradient = New(desc);
    Add(name + " forward", dnnl::eltwise_forward(forward),
        {{DNNL_ARG_SRC, data}, {DNNL_ARG_DST, data}});
    const dnnl::eltwise_backward::primitive_desc backward(
        {dnnl::algorithm::eltwise_relu_use_dst_for_bwd, desc, desc, 0.0F}, engine_, forward);
    Add(name + " backward", dnnl::eltwise_backward(backward),
        {{DNNL_ARG_DST, data}, {DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_DIFF_SRC, gradient}});
  }

  void AddReorders() {
    const memory::dims dims = {kBatch, 32, 13, 13};
    const memory blocked = New({dims, kF32, Tag::nChw16c});
    const memory flat = New({dims, kF32, Tag::nhwc});
    Add("reorder to flat", dnnl::reorder(blocked, flat),
        {{DNNL_ARG_FROM, blocked}, {DNNL_ARG_TO, flat}});
    Add("reorder from flat", dnnl::reorder(flat, blocked),
        {{DNNL_ARG_FROM, flat}, {DNNL_ARG_TO, blocked}});
  }

  void AddDense(const std::string& name, memory::dim in, memory::dim out) {
    const memory::desc source({kBatch, in}, kF32, Tag::nc);
    const memory::desc kernel({out, in}, kF32, Tag::any);
    const memory::desc bias({out}, kF32, Tag::x);
    const memory::desc result({kBatch, out}, kF32, Tag::nc);
    const memory x = New(source), y = New(result), biases = New(bias);
    const dnnl::inner_product_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, source, kernel, bias, result}, engine_);
    Add(name + " forward", dnnl::inner_product_forward(forward),
        {{DNNL_ARG_SRC, x},
         {DNNL_ARG_WEIGHTS, New(forward.weights_desc())},
         {DNNL_ARG_BIAS, biases},
         {DNNL_ARG_DST, y}});
    const memory::desc keras({out, in}, kF32, Tag::io);
    const dnnl::inner_product_backward_weights::primitive_desc weights(
        {source, keras, bias, result}, engine_, forward);
    Add(name + " backward weights", dnnl::inner_product_backward_weights(weights),
        {{DNNL_ARG_SRC, x},
         {DNNL_ARG_DIFF_DST, y},
         {DNNL_ARG_DIFF_WEIGHTS, New(keras)},
         {DNNL_ARG_DIFF_BIAS, biases}});
    const dnnl::inner_product_backward_data::primitive_desc data({source, kernel, result}, engine_,
                                                                 forward);
    Add(name + " backward data", dnnl::inner_product_backward_data(data),
        {{DNNL_ARG_DIFF_SRC, x},
         {DNNL_ARG_WEIGHTS, New(data.weights_desc())},
         {DNNL_ARG_DIFF_DST, y}});
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::mt19937 random_{1};
  memory::desc image_;
  std::vector<Named> primitives_;
};

void BareSum(benchmark::State& state, const BarePrimitives& bare) {
  const ScopedThreads scope(1);
  for (auto _ : state) {
    for (const auto& primitive : bare.all()) primitive.run();
  }
}

void Bare(benchmark::State& state, const BarePrimitives::Named& primitive) {
  const ScopedThreads scope(1);
  for (auto _ : state) primitive.run();
}

}  // namespace
}  // namespace weir::nn

int main(int argc, char** argv) {
  using namespace weir::nn;  // NOLINT(google-build-using-namespace)
  benchmark::Initialize(&argc, argv);
  const ScopedThreads scope(1);
  const BarePrimitives bare;
  const auto ms = benchmark::kMillisecond;
  benchmark::RegisterBenchmark("TrainStep", TrainStep)->Unit(ms);
  benchmark::RegisterBenchmark("bare/sum", [&](auto& state) { BareSum(state, bare); })->Unit(ms);
  benchmark::RegisterBenchmark("Evaluate", Evaluate)->Unit(ms);
  for (const auto& primitive : bare.all()) {
    benchmark::RegisterBenchmark(("bare/" + primitive.name).c_str(), [&](auto& state) {
      Bare(state, primitive);
    })->Unit(ms);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
