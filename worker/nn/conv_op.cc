#include "worker/nn/narrow_conv.h"
#include "worker/nn/op.h"

namespace weir::nn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;

using ForwardDesc = dnnl::convolution_forward::primitive_desc;
using BackwardWeightsDesc = dnnl::convolution_backward_weights::primitive_desc;
using BackwardDataDesc = dnnl::convolution_backward_data::primitive_desc;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// A convolution's shapes, and the implementations that oneDNN has for them in a layout.
class Implementations {
 public:
  struct Choice {
    ForwardDesc forward;
    BackwardWeightsDesc backward_weights;
    BackwardDataDesc backward_data;  // if it is needed
    bool own_gradient = false;       // by NarrowConvGradient, not backward_weights
    int references = 0;
  };

  Implementations(const Builder& builder, const Step& step, bool needs_data)
      : engine_(builder.engine()), relu_(step.fused_relu), needs_data_(needs_data) {
    const memory::dim n = builder.batch();
    source_ = {n, step.in[2], step.in[0], step.in[1]};
    kernel_ = {step.out[2], step.in[2], step.window.size[0], step.window.size[1]};
    result_ = {n, step.out[2], step.out[0], step.out[1]};
    strides_ = {step.window.stride[0], step.window.stride[1]};
    before_ = {step.window.pad_before[0], step.window.pad_before[1]};
    after_ = {step.window.pad_after[0], step.window.pad_after[1]};
  }

  const memory::dims& kernel() const { return kernel_; }

  // oneDNN's choice for the forward (`any`) comes first: on AVX-512 it is the best for all (images
  // blocked by 16 channels are twice as fast as channels-last for the tutorial's CNN). Elsewhere it
  // may leave a gradient to a reference implementation; then the first layout is taken that does
  // not. Blocked beats plain, by two to three times on AVX2; plain, by way of a matrix product,
  // there is on every processor.
  Choice Best() const {
    std::optional<Choice> best;
    for (const auto& [source, result] : {std::pair{Tag::any, Tag::any},
                                         {Tag::nChw8c, Tag::nChw8c},
                                         {Tag::nhwc, Tag::nhwc},
                                         {Tag::nchw, Tag::nchw}}) {
      std::optional<Choice> choice = Find(source, result);
      if (!choice.has_value()) continue;
      if (!best.has_value() || choice->references < best->references) best = std::move(choice);
      if (best->references == 0) return *std::move(best);
    }
    if (!best.has_value()) throw dnnl::error(dnnl_unimplemented, "no convolution in any layout");
    return *std::move(best);
  }

 private:
  // Nothing, where oneDNN has nothing.
  std::optional<Choice> Find(Tag source_tag, Tag result_tag) const {
    const memory::desc source(source_, kF32, source_tag);
    const memory::desc result(result_, kF32, result_tag);
    const memory::desc kernel(kernel_, kF32, Tag::any);
    const memory::desc bias({kernel_[0]}, kF32, Tag::x);
    try {
      Choice choice;
      choice.forward = {{dnnl::prop_kind::forward_training, kDirect, source, kernel, bias, result,
                         strides_, before_, after_},
                        Attributes(relu_),
                        engine_};
      const memory::desc from = choice.forward.src_desc();
      const memory::desc to = choice.forward.dst_desc();
      choice.backward_weights = {{kDirect, from, kernel, bias, to, strides_, before_, after_},
                                 Attributes(),
                                 engine_,
                                 choice.forward};
      choice.own_gradient = IsReference(choice.backward_weights) && FitsOwnGradient(from, to);
      choice.references += IsReference(choice.forward) ? 1 : 0;
      choice.references += IsReference(choice.backward_weights) && !choice.own_gradient ? 1 : 0;
      if (!needs_data_) return choice;
      choice.backward_data = {{kDirect, from, kernel, to, strides_, before_, after_},
                              Attributes(),
                              engine_,
                              choice.forward};
      choice.references += IsReference(choice.backward_data) ? 1 : 0;
      return choice;
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_unimplemented) return std::nullopt;
      throw;
    }
  }

  static bool FitsOwnGradient(const memory::desc& source, const memory::desc& result) {
    const auto tag = TagOf(result);
    return TagOf(source) == Tag::nchw && tag.has_value() &&
           LayoutOf(result, *tag).block % NarrowConvGradient::kFilterMultiple == 0;
  }

  dnnl::engine engine_;
  bool relu_;
  bool needs_data_;
  memory::dims source_, kernel_, result_, strides_, before_, after_;
};

class ConvOp final : public Op {
 public:
  ConvOp(Builder& builder, const Step& step, const Value& input, Next next)
      : input_(input), kernel_tensor_(step.kernel_tensor) {
    const Implementations implementations(builder, step, input_.has_gradient());
    const Implementations::Choice choice = implementations.Best();
    const memory::desc kernel(implementations.kernel(), kF32, Tag::hwio);
    const memory::desc bias({step.out[2]}, kF32, Tag::x);
    weights_ = builder.Unbound(kernel);
    biases_ = builder.Unbound(bias);
    kernel_gradient_ = builder.Unbound(kernel);
    bias_gradient_ = builder.Unbound(bias);
    BuildForward(builder, choice.forward, next);
    if (choice.own_gradient) {
      BuildOwnGradient(step);
    } else {
      BuildBackwardWeights(builder, choice.backward_weights);
    }
    if (input_.has_gradient()) BuildBackwardData(builder, choice.backward_data);
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
    if (own_gradient_.has_value()) RunOwnGradient();
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

  void BuildForward(Builder& builder, const ForwardDesc& desc, Next next) {
    builder.WarnOfReference(desc, "convolution");
    source_ = InLayout(builder, input_.data, desc.src_desc(), reorder_source_);
    const memory weights = InLayout(builder, weights_, desc.weights_desc(), reorder_weights_);
    output_.data = builder.NewMemory(desc.dst_desc());
    // Max-pooling's backward works from the positions it noted, so the image is free by then.
    output_.gradient = next.pool ? output_.data : builder.NewMemory(desc.dst_desc());
    forward_ = Call(dnnl::convolution_forward(desc),
                    {{DNNL_ARG_SRC, source_},
                     {DNNL_ARG_WEIGHTS, weights},
                     {DNNL_ARG_BIAS, biases_},
                     {DNNL_ARG_DST, output_.data},
                     {DNNL_ARG_SCRATCHPAD, builder.Scratchpad(desc.scratchpad_desc())}});
  }

  void BuildOwnGradient(const Step& step) {
    const memory::desc source = source_.get_desc();
    const memory::desc result = output_.data.get_desc();
    images_ = source.dims()[0];
    own_gradient_.emplace(LayoutOf(source, *TagOf(source)), LayoutOf(result, *TagOf(result)),
                          step.window);
  }

  void RunOwnGradient() {
    const auto floats = [](const memory& memory) {
      return static_cast<float*>(memory.get_data_handle());
    };
    own_gradient_->Run(images_, floats(source_), floats(output_.gradient), floats(kernel_gradient_),
                       floats(bias_gradient_));
  }

  void BuildBackwardWeights(Builder& builder, const BackwardWeightsDesc& desc) {
    builder.WarnOfReference(desc, "gradient by the weights");
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

  void BuildBackwardData(Builder& builder, const BackwardDataDesc& desc) {
    builder.WarnOfReference(desc, "gradient by the input");
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
  memory weights_, biases_, kernel_gradient_, bias_gradient_;  // the caller's, in Keras's layout
  memory source_;
  Call reorder_source_, reorder_weights_, forward_;
  std::optional<NarrowConvGradient> own_gradient_;
  memory::dim images_ = 0;  // of own_gradient_; asking oneDNN for it would allocate
  Call backward_weights_, reorder_kernel_gradient_;
  Call reorder_weights_back_, backward_data_, reorder_source_gradient_;
};

}  // namespace

std::unique_ptr<Op> MakeConvOp(Builder& builder, const Step& step, const Value& input, Next next) {
  return std::make_unique<ConvOp>(builder, step, input, next);
}

}  // namespace weir::nn
