#include "worker/nn/op.h"

namespace weir::nn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;

// The layouts are oneDNN's choice: on AVX-512 images are blocked by 16 channels (nChw16c), which
// is twice as fast as channels-last for the tutorial's CNN and pays for the reorder at Flatten.
class ConvOp final : public Op {
 public:
  ConvOp(Builder& builder, const Step& step, const Value& input, bool feeds_pool)
      : input_(input), kernel_tensor_(step.kernel_tensor) {
    const memory::dim n = builder.batch();
    const memory::dims source = {n, step.in[2], step.in[0], step.in[1]};
    const memory::dims kernel = {step.out[2], step.in[2], step.window.size[0], step.window.size[1]};
    const memory::dims result = {n, step.out[2], step.out[0], step.out[1]};
    source_any_ = memory::desc(source, kF32, Tag::any);
    kernel_any_ = memory::desc(kernel, kF32, Tag::any);
    result_any_ = memory::desc(result, kF32, Tag::any);
    bias_ = memory::desc({step.out[2]}, kF32, Tag::x);
    strides_ = {step.window.stride[0], step.window.stride[1]};
    before_ = {step.window.pad_before[0], step.window.pad_before[1]};
    after_ = {step.window.pad_after[0], step.window.pad_after[1]};
    weights_ = builder.Unbound({kernel, kF32, Tag::hwio});
    biases_ = builder.Unbound(bias_);
    kernel_gradient_ = builder.Unbound({kernel, kF32, Tag::hwio});
    bias_gradient_ = builder.Unbound(bias_);
    BuildForward(builder, step.fused_relu, feeds_pool);
    BuildBackwardWeights(builder);
    if (input_.has_gradient()) BuildBackwardData(builder);
  }

  void BindWeights(ParameterView weights) override {
    Bind(weights_, weights[kernel_tensor_].data());
    Bind(biases_, weights[kernel_tensor_ + 1].data());
  }

  void BindGradients(MutableParameterView gradients) override {
    Bind(kernel_gradient_, gradients[kernel_tensor_].data());
    Bind(bias_gradient_, gradients[kernel_tensor_ + 1].data());
  }

  void Forward(const dnnl::stream& stream) override {
    reorder_source_.Run(stream);
    reorder_weights_.Run(stream);
    forward_.Run(stream);
  }

  void Backward(const dnnl::stream& stream) override {
    backward_weights_.Run(stream);
    reorder_kernel_gradient_.Run(stream);
    reorder_weights_back_.Run(stream);
    backward_data_.Run(stream);
    reorder_source_gradient_.Run(stream);
  }

 private:
  // `from` itself if it has the wanted layout, else memory that `reorder` fills from it.
  static memory InLayout(Builder& builder, const memory& from, const memory::desc& wanted,
                         Call& reorder) {
    if (from.get_desc() == wanted) return from;
    memory to = builder.NewMemory(wanted);
    reorder = Call::Reorder(builder, from, to);
    return to;
  }

  void BuildForward(Builder& builder, bool relu, bool feeds_pool) {
    forward_desc_ = {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct,
                      source_any_, kernel_any_, bias_, result_any_, strides_, before_, after_},
                     Attributes(relu),
                     builder.engine()};
    source_ = InLayout(builder, input_.data, forward_desc_.src_desc(), reorder_source_);
    const memory weights =
        InLayout(builder, weights_, forward_desc_.weights_desc(), reorder_weights_);
    output_.data = builder.NewMemory(forward_desc_.dst_desc());
    // Max-pooling's backward works from the positions it noted, so the image is free by then.
    output_.gradient = feeds_pool ? output_.data : builder.NewMemory(forward_desc_.dst_desc());
    forward_ = Call(dnnl::convolution_forward(forward_desc_),
                    {{DNNL_ARG_SRC, source_},
                     {DNNL_ARG_WEIGHTS, weights},
                     {DNNL_ARG_BIAS, biases_},
                     {DNNL_ARG_DST, output_.data},
                     {DNNL_ARG_SCRATCHPAD, builder.Scratchpad(forward_desc_.scratchpad_desc())}});
  }

  void BuildBackwardWeights(Builder& builder) {
    const dnnl::convolution_backward_weights::primitive_desc desc(
        {dnnl::algorithm::convolution_direct, source_.get_desc(), kernel_any_, bias_,
         output_.data.get_desc(), strides_, before_, after_},
        Attributes(), builder.engine(), forward_desc_);
    memory gradient = kernel_gradient_;
    if (desc.diff_weights_desc() != kernel_gradient_.get_desc()) {
      gradient = builder.NewMemory(desc.diff_weights_desc());
      reorder_kernel_gradient_ = Call::Reorder(builder, gradient, kernel_gradient_);
    }
    backward_weights_ = Call(dnnl::convolution_backward_weights(desc),
                             {{DNNL_ARG_SRC, source_},
                              {DNNL_ARG_DIFF_DST, output_.gradient},
                              {DNNL_ARG_DIFF_WEIGHTS, gradient},
                              {DNNL_ARG_DIFF_BIAS, bias_gradient_},
                              {DNNL_ARG_SCRATCHPAD, builder.Scratchpad(desc.scratchpad_desc())}});
  }

  void BuildBackwardData(Builder& builder) {
    const dnnl::convolution_backward_data::primitive_desc desc(
        {dnnl::algorithm::convolution_direct, source_.get_desc(), kernel_any_,
         output_.data.get_desc(), strides_, before_, after_},
        Attributes(), builder.engine(), forward_desc_);
    const memory weights = InLayout(builder, weights_, desc.weights_desc(), reorder_weights_back_);
    memory gradient = input_.gradient;
    if (desc.diff_src_desc() != gradient.get_desc()) {
      gradient = builder.NewMemory(desc.diff_src_desc());
      reorder_source_gradient_ = Call::Reorder(builder, gradient, input_.gradient);
    }
    backward_data_ = Call(dnnl::convolution_backward_data(desc),
                          {{DNNL_ARG_DIFF_DST, output_.gradient},
                           {DNNL_ARG_WEIGHTS, weights},
                           {DNNL_ARG_DIFF_SRC, gradient},
                           {DNNL_ARG_SCRATCHPAD, builder.Scratchpad(desc.scratchpad_desc())}});
  }

  Value input_;
  std::size_t kernel_tensor_;
  memory::desc source_any_, kernel_any_, result_any_, bias_;
  memory::dims strides_, before_, after_;
  dnnl::convolution_forward::primitive_desc forward_desc_;
  memory weights_, biases_, kernel_gradient_, bias_gradient_;  // the caller's, in Keras's layout
  memory source_;
  Call reorder_source_, reorder_weights_, forward_;
  Call backward_weights_, reorder_kernel_gradient_;
  Call reorder_weights_back_, backward_data_, reorder_source_gradient_;
};

}  // namespace

std::unique_ptr<Op> MakeConvOp(Builder& builder, const Step& step, const Value& input,
                               bool feeds_pool) {
  return std::make_unique<ConvOp>(builder, step, input, feeds_pool);
}

}  // namespace weir::nn
