#include "worker/nn/op.h"

namespace weir::nn {
namespace {

// In place, both ways: the derivative is told from the output, and no step before it needs its own
// output. Only the caller's features are left alone.
class ReluOp final : public Op {
 public:
  ReluOp(Builder& builder, const Step& step, const Value& input) {
    output_ = input;
    output_.rectified = false;
    if (input.rectified) return;
    const dnnl::memory::desc desc = input.data.get_desc();
    if (!input.writable) output_ = {.data = builder.NewMemory(desc)};
    const dnnl::eltwise_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, dnnl::algorithm::eltwise_relu, desc, 0.0F},
        Attributes(), builder.engine());
    builder.WarnOfReference(forward, "ReLU");
    if (!step.fused_relu) {
      forward_ = Call(dnnl::eltwise_forward(forward),
                      {{DNNL_ARG_SRC, input.data},
                       {DNNL_ARG_DST, output_.data},
                       {DNNL_ARG_SCRATCHPAD, builder.Scratchpad(forward.scratchpad_desc())}});
    }
    if (!input.has_gradient()) return;
    const dnnl::eltwise_backward::primitive_desc backward(
        {dnnl::algorithm::eltwise_relu_use_dst_for_bwd, desc, desc, 0.0F}, Attributes(),
        builder.engine(), forward);
    builder.WarnOfReference(backward, "ReLU's gradient");
    backward_ = Call(dnnl::eltwise_backward(backward),
                     {{DNNL_ARG_DST, output_.data},
                      {DNNL_ARG_DIFF_DST, output_.gradient},
                      {DNNL_ARG_DIFF_SRC, output_.gradient},
                      {DNNL_ARG_SCRATCHPAD, builder.Scratchpad(backward.scratchpad_desc())}});
  }

  void Forward(const dnnl::stream& stream) override { forward_.Run(stream); }
  void Backward(const dnnl::stream& stream) override { backward_.Run(stream); }

 private:
  Call forward_, backward_;
};

}  // namespace

std::unique_ptr<Op> MakeReluOp(Builder& builder, const Step& step, const Value& input) {
  return std::make_unique<ReluOp>(builder, step, input);
}

}  // namespace weir::nn
