#include "worker/nn/op.h"

namespace weir::nn {
namespace {

using dnnl::memory;

// Works in the layout that it gets. The workspace is the position of each maximum, one byte each.
class PoolOp final : public Op {
 public:
  PoolOp(Builder& builder, const Step& step, const Value& input, bool feeds_pool) {
    const auto& window = step.window;
    const memory::dims size = {window.size[0], window.size[1]};
    const memory::dims strides = {window.stride[0], window.stride[1]};
    const memory::dims before = {window.pad_before[0], window.pad_before[1]};
    const memory::dims after = {window.pad_after[0], window.pad_after[1]};
    const memory::desc source = input.data.get_desc();
    const memory::desc any({builder.batch(), step.out[2], step.out[0], step.out[1]},
                           memory::data_type::f32, memory::format_tag::any);
    const dnnl::pooling_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, dnnl::algorithm::pooling_max, source, any, strides,
         size, before, after},
        Attributes(), builder.engine());
    output_.data = builder.NewMemory(forward.dst_desc());
    const memory workspace = builder.NewMemory(forward.workspace_desc());
    forward_ = Call(dnnl::pooling_forward(forward),
                    {{DNNL_ARG_SRC, input.data},
                     {DNNL_ARG_DST, output_.data},
                     {DNNL_ARG_WORKSPACE, workspace},
                     {DNNL_ARG_SCRATCHPAD, builder.Scratchpad(forward.scratchpad_desc())}});
    if (!input.has_gradient()) return;
    output_.gradient = feeds_pool ? output_.data : builder.NewMemory(forward.dst_desc());
    const dnnl::pooling_backward::primitive_desc backward(
        {dnnl::algorithm::pooling_max, source, forward.dst_desc(), strides, size, before, after},
        Attributes(), builder.engine(), forward);
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

}  // namespace

std::unique_ptr<Op> MakePoolOp(Builder& builder, const Step& step, const Value& input,
                               bool feeds_pool) {
  return std::make_unique<PoolOp>(builder, step, input, feeds_pool);
}

}  // namespace weir::nn
