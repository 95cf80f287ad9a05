#include "worker/nn/plan.h"

#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"

namespace weir::nn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

// Runs `act` for `layer` and turns what oneDNN throws into a status.
template <typename Act>
absl::Status Guarded(absl::string_view layer, absl::string_view what, Act act) {
  try {
    act();
    return absl::OkStatus();
  } catch (const dnnl::error& error) {
    const std::string text = absl::StrCat("layer '", layer, "': oneDNN cannot ", what, ": ",
                                          error.what(), " (oneDNN status ", error.status, ")");
    if (error.status == dnnl_out_of_memory) return absl::ResourceExhaustedError(text);
    return absl::InternalError(text);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("layer '", layer, "': no memory to ", what, "; use a smaller batch"));
  }
}

// One channel is the same in either order; then channels first is what oneDNN's convolution reads
// without a copy.
memory::desc FeaturesDesc(const std::vector<std::int64_t>& shape, int batch) {
  constexpr auto kF32 = memory::data_type::f32;
  if (shape.size() == 1) return {{batch, shape[0]}, kF32, Tag::nc};
  const memory::dims dims = {batch, shape[2], shape[0], shape[1]};
  return {dims, kF32, shape[2] == 1 ? Tag::nchw : Tag::nhwc};
}

std::unique_ptr<Op> MakeOp(Builder& builder, const Step& step, const Value& input, Next next) {
  switch (step.kind) {
    case Step::Kind::kConv:
      return MakeConvOp(builder, step, input, next);
    case Step::Kind::kPool:
      return MakePoolOp(builder, step, input, next);
    case Step::Kind::kRelu:
      return MakeReluOp(builder, step, input);
    case Step::Kind::kFlatten:
      return MakeFlattenOp(builder, step, input);
    case Step::Kind::kDense:
      return MakeDenseOp(builder, step, input);
  }
  return nullptr;
}

Next After(const std::vector<Step>& steps, std::size_t i) {
  const auto is = [&](std::size_t at, Step::Kind kind) {
    return at < steps.size() && steps[at].kind == kind;
  };
  Next next{.pool = is(i + 1, Step::Kind::kPool), .relu = is(i + 1, Step::Kind::kRelu)};
  next.flatten = is(next.relu ? i + 2 : i + 1, Step::Kind::kFlatten);
  return next;
}

std::size_t Elements(const memory& memory) { return memory.get_desc().get_size() / sizeof(float); }

}  // namespace

absl::StatusOr<std::unique_ptr<Plan>> Plan::Create(const dnnl::engine& engine, Buffers& buffers,
                                                   const std::vector<std::int64_t>& input_shape,
                                                   const std::vector<Step>& steps, int batch,
                                                   bool warns) {
  std::unique_ptr<Plan> plan;
  buffers.Rewind();
  Builder builder(engine, buffers, batch, warns);
  WEIR_RETURN_IF_ERROR(Guarded("(input)", "describe the features", [&] {
    plan.reset(new Plan(engine, batch));
    plan->features_ = builder.Unbound(FeaturesDesc(input_shape, batch));
    plan->output_ = {.data = plan->features_, .writable = false};
  }));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    WEIR_RETURN_IF_ERROR(plan->AddOp(builder, steps[i], After(steps, i)));
  }
  WEIR_RETURN_IF_ERROR(Guarded("(all)", "get scratch memory", [&] { builder.BindScratchpads(); }));
  return plan;
}

absl::Status Plan::AddOp(Builder& builder, const Step& step, Next next) {
  return Guarded(step.name, "build it", [&] {
    builder.BeginLayer(step.name);
    std::optional<std::size_t> kernel_tensor;
    if (step.has_parameters()) kernel_tensor = step.kernel_tensor;
    ops_.push_back({step.name, MakeOp(builder, step, output_, next), kernel_tensor});
    output_ = ops_.back().op->output();
  });
}

absl::Status Plan::Forward(const float* features, ParameterView weights, StepHooks& hooks) {
  WEIR_RETURN_IF_ERROR(Guarded("(input)", "bind the features", [&] { Bind(features_, features); }));
  for (const NamedOp& step : ops_) {
    if (step.kernel_tensor.has_value()) {
      WEIR_RETURN_IF_ERROR(hooks.AwaitWeights(*step.kernel_tensor));
      WEIR_RETURN_IF_ERROR(hooks.AwaitWeights(*step.kernel_tensor + 1));
    }
    WEIR_RETURN_IF_ERROR(Guarded(step.layer, "run it forward", [&] {
      step.op->BindWeights(weights);
      step.op->Forward(stream_);
    }));
  }
  return Guarded("(all)", "finish", [&] { stream_.wait(); });
}

absl::Status Plan::Backward(MutableParameterView gradients, StepHooks& hooks) {
  // What lies before the first step with parameters has no gradient and does nothing.
  for (auto step = ops_.rbegin(); step != ops_.rend(); ++step) {
    WEIR_RETURN_IF_ERROR(Guarded(step->layer, "run it backward", [&] {
      step->op->BindGradients(gradients);
      step->op->Backward(stream_);
      stream_.wait();
    }));
    // An op's own Backward is the last that reads its weights, for the gradient by its input.
    if (!step->kernel_tensor.has_value()) continue;
    WEIR_RETURN_IF_ERROR(hooks.GradientReady(*step->kernel_tensor + 1));
    WEIR_RETURN_IF_ERROR(hooks.GradientReady(*step->kernel_tensor));
  }
  return absl::OkStatus();
}

std::span<const float> Plan::logits() const {
  return {static_cast<const float*>(output_.data.get_data_handle()), Elements(output_.data)};
}

std::span<float> Plan::logits_gradient() const {
  if (!output_.has_gradient()) return {};
  return {static_cast<float*>(output_.gradient.get_data_handle()), Elements(output_.gradient)};
}

}  // namespace weir::nn
