#include "absl/strings/match.h"
#include "worker/nn/max_pool.h"
#include "worker/nn/op.h"

namespace weir::nn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

using ForwardDesc = dnnl::pooling_forward::primitive_desc;

// A pooling as oneDNN describes it.
struct PoolDesc {
  PoolDesc(const Builder& builder, const Step& step, const memory::desc& from)
      : source(from),
        size{step.window.size[0], step.window.size[1]},
        strides{step.window.stride[0], step.window.stride[1]},
        before{step.window.pad_before[0], step.window.pad_before[1]},
        after{step.window.pad_after[0], step.window.pad_after[1]} {
    const memory::desc any({builder.batch(), step.out[2], step.out[0], step.out[1]},
                           memory::data_type::f32, Tag::any);
    forward = {{dnnl::prop_kind::forward_training, dnnl::algorithm::pooling_max, source, any,
                strides, size, before, after},
               Attributes(),
               builder.engine()};
  }

  memory::desc source;
  memory::dims size, strides, before, after;
  ForwardDesc forward;
};

// oneDNN's pooling, in the layout that it gets. The workspace is the position of each maximum, one
// byte each.
class DnnlPoolOp final : public Op {
 public:
  DnnlPoolOp(Builder& builder, const PoolDesc& desc, const Value& input, Next next) {
    const ForwardDesc& forward = desc.forward;
    output_.data = builder.NewMemory(forward.dst_desc());
    const memory workspace = builder.NewMemory(forward.workspace_desc());
    forward_ = Call(dnnl::pooling_forward(forward),
                    {{DNNL_ARG_SRC, input.data},
                     {DNNL_ARG_DST, output_.data},
                     {DNNL_ARG_WORKSPACE, workspace},
                     {DNNL_ARG_SCRATCHPAD, builder.Scratchpad(forward.scratchpad_desc())}});
    if (!input.has_gradient()) return;
    output_.gradient = next.pool ? output_.data : builder.NewMemory(forward.dst_desc());
    const dnnl::pooling_backward::primitive_desc backward(
        {dnnl::algorithm::pooling_max, desc.source, forward.dst_desc(), desc.strides, desc.size,
         desc.before, desc.after},
        Attributes(), builder.engine(), forward);
    builder.WarnOfReference(backward, "pooling's gradient");
    backward_ = Call(dnnl::pooling_backward(backward),
                     {{DNNL_ARG_DIFF_DST, output_.gradient},
                      {DNNL_ARG_DIFF_SRC, input.gradient},
                      {DNNL_ARG_WORKSPACE, workspace},
                      {DNNL_ARG_SCRATCHPAD, builder.Scratchpad(backward.scratchpad_desc())}});
  }

  void Forward(const dnnl::stream& stream) override { forward_.Run(stream); }
  void Backward(const dnnl::stream& stream) override { backward_.Run(stream); }

 private:
  Call forward_, backward_;
};

// Our own: does the ReLU that follows, too, and gives Flatten what it wants.
class OwnPoolOp final : public Op {
 public:
  OwnPoolOp(Builder& builder, const Step& step, const Value& input, Next next, Tag tag)
      : input_(input), images_(builder.batch()) {
    const memory::dims dims = {images_, step.out[2], step.out[0], step.out[1]};
    const memory::desc result(dims, memory::data_type::f32, next.flatten ? Tag::nhwc : tag);
    pool_ = {.in = LayoutOf(input.data.get_desc(), tag),
             .out = LayoutOf(result, next.flatten ? Tag::nhwc : tag),
             .window = step.window,
             .relu = next.relu};
    output_.data = builder.NewMemory(result);
    output_.rectified = next.relu;
    if (input.has_gradient()) output_.gradient = builder.NewMemory(result);
    const memory::desc positions({images_ * pool_.out.floats()}, memory::data_type::s32, Tag::x);
    positions_ = builder.NewMemory(positions);
  }

  void Forward(const dnnl::stream& /*stream*/) override {
    pool_.Forward(images_, Data<float>(input_.data), Data<float>(output_.data),
                  Data<std::int32_t>(positions_));
  }
  void Backward(const dnnl::stream& /*stream*/) override {
    if (!input_.has_gradient()) return;
    pool_.Backward(images_, Data<float>(output_.gradient), Data<std::int32_t>(positions_),
                   Data<float>(input_.gradient));
  }

 private:
  template <typename T>
  static T* Data(const memory& memory) {
    return static_cast<T*>(memory.get_data_handle());
  }

  Value input_;
  std::int64_t images_;
  MaxPool pool_;
  memory positions_;
};

}  // namespace

std::unique_ptr<Op> MakePoolOp(Builder& builder, const Step& step, const Value& input, Next next) {
  const PoolDesc desc(builder, step, input.data.get_desc());
  const auto tag = TagOf(desc.source);
  // On AVX-512 oneDNN's pooling notes its positions by masked stores, and is fast.
  const bool is_fast = absl::StrContains(desc.forward.impl_info_str(), "avx512");
  if (is_fast || !tag.has_value()) {
    return std::make_unique<DnnlPoolOp>(builder, desc, input, next);
  }
  return std::make_unique<OwnPoolOp>(builder, step, input, next, *tag);
}

}  // namespace weir::nn
