#include "worker/nn/op.h"

namespace weir::nn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;

// The image's shape over the memory of a flat value, channels last.
memory::desc ImageIn(const Step& step, memory::dim batch) {
  return {{batch, step.in[2], step.in[0], step.in[1]}, kF32, Tag::nhwc};
}

bool IsFlat(const Step& step, const memory::desc& desc, memory::dim batch) {
  if (step.in.size() == 1 || desc == ImageIn(step, batch)) return true;
  const memory::desc channels_first({batch, step.in[2], step.in[0], step.in[1]}, kF32, Tag::nchw);
  return step.in[2] == 1 && desc == channels_first;
}

// To [n, features] with channels last, as Keras flattens. A copy only where the image is laid out
// in another way; else the same memory under another shape. (Never first: see Compile.)
class FlattenOp final : public Op {
 public:
  FlattenOp(Builder& builder, const Step& step, const Value& input) {
    const memory::desc flat({builder.batch(), step.out[0]}, kF32, Tag::nc);
    const bool is_flat = IsFlat(step, input.data.get_desc(), builder.batch());
    const auto make = [&](const memory& from) {
      if (!is_flat) return builder.NewMemory(flat);
      return memory(flat, builder.engine(), from.get_data_handle());
    };
    output_.data = make(input.data);
    if (input.has_gradient()) output_.gradient = make(input.gradient);
    if (is_flat) return;
    forward_ = Call::Reorder(builder, input.data, AsImage(builder, step, output_.data));
    if (!input.has_gradient()) return;
    backward_ = Call::Reorder(builder, AsImage(builder, step, output_.gradient), input.gradient);
  }

  void Forward(const dnnl::stream& stream) override { forward_.Run(stream); }
  void Backward(const dnnl::stream& stream) override { backward_.Run(stream); }

 private:
  static memory AsImage(Builder& builder, const Step& step, const memory& flat) {
    return {ImageIn(step, builder.batch()), builder.engine(), flat.get_data_handle()};
  }

  Call forward_, backward_;
};

}  // namespace

std::unique_ptr<Op> MakeFlattenOp(Builder& builder, const Step& step, const Value& input) {
  return std::make_unique<FlattenOp>(builder, step, input);
}

}  // namespace weir::nn
