#pragma once

#include <initializer_list>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/model.h"
#include "worker/nn/buffers.h"
#include "worker/nn/image_layout.h"
#include "worker/nn/step.h"

// Inside worker/nn only: how steps run on oneDNN. Everything here may throw dnnl::error and
// std::bad_alloc; plan.cc catches them.
namespace weir::nn {

/// What flows between two steps, and the gradient of the loss by it, in the same layout. A value
/// before the first step with parameters has no gradient: nobody would use it.
struct Value {
  dnnl::memory data;
  dnnl::memory gradient;
  bool writable = true;    ///< false: the caller's features, which a step must not overwrite
  bool rectified = false;  ///< the step before does the ReLU that follows, both ways

  bool has_gradient() const { return static_cast<bool>(gradient); }
};

/// What the step after the one being built does.
struct Next {
  bool pool = false;     ///< is max-pooling, which needs no input for its backward
  bool relu = false;     ///< is ReLU
  bool flatten = false;  ///< is Flatten, or ReLU and then Flatten
};

/// What building the steps of one plan needs.
class Builder {
 public:
  /// `warns`: log each reference implementation.
  Builder(dnnl::engine engine, Buffers& buffers, int batch, bool warns)
      : engine_(std::move(engine)), buffers_(buffers), batch_(batch), warns_(warns) {}

  /// Whose step is built from now on, for warnings.
  void BeginLayer(absl::string_view layer) { layer_ = std::string(layer); }
  /// Warns if `desc`, which is for `what`, is one of oneDNN's reference implementations: they are
  /// there to be correct, and a hundred times slower than the others.
  void WarnOfReference(const dnnl::primitive_desc_base& desc, absl::string_view what) const;

  const dnnl::engine& engine() const { return engine_; }
  int batch() const { return batch_; }

  dnnl::memory NewMemory(const dnnl::memory::desc& desc);
  /// A memory whose address is set later.
  dnnl::memory Unbound(const dnnl::memory::desc& desc) const;
  /// Primitives run one after another, so all share one scratchpad, made by BindScratchpads.
  dnnl::memory Scratchpad(const dnnl::memory::desc& desc);
  void BindScratchpads();

 private:
  dnnl::engine engine_;
  Buffers& buffers_;
  int batch_;
  bool warns_;
  std::string layer_;
  std::vector<dnnl::memory> scratchpads_;
};

/// A primitive with its arguments, ready to run. (The C++ API's execute allocates an argument list
/// each time.) Empty: runs nothing.
class Call {
 public:
  using Arguments = std::initializer_list<std::pair<const int, dnnl::memory>>;
  Call() = default;
  Call(dnnl::primitive primitive, Arguments arguments);
  /// A copy from one layout to another.
  static Call Reorder(Builder& builder, const dnnl::memory& from, const dnnl::memory& to);

  void Run(const dnnl::stream& stream) const;

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// Attributes that every primitive here has: a scratchpad of ours; with `relu`, ReLU on the output.
dnnl::primitive_attr Attributes(bool relu = false);

/// Whether it is one of oneDNN's reference implementations.
bool IsReference(const dnnl::primitive_desc_base& desc);

/// Which of the layouts that our own kernels know `desc` [n, channels, height, width] has, if any.
std::optional<dnnl::memory::format_tag> TagOf(const dnnl::memory::desc& desc);
/// How its images lie, by the tag that TagOf found.
ImageLayout LayoutOf(const dnnl::memory::desc& desc, dnnl::memory::format_tag tag);

/// Points `memory` at floats of the caller. No-op if it is there already.
void Bind(const dnnl::memory& memory, const float* address);

/// One step of a plan.
class Op {
 public:
  virtual ~Op() = default;
  /// Where this step's parameters are and where their gradients go, until the next Bind.
  virtual void BindWeights(ParameterView /*weights*/) {}
  virtual void BindGradients(MutableParameterView /*gradients*/) {}
  virtual void Forward(const dnnl::stream& stream) = 0;
  /// From the output's gradient, the input's (where it has one) and the parameters'.
  virtual void Backward(const dnnl::stream& stream) = 0;
  const Value& output() const { return output_; }

 protected:
  Value output_;
};

std::unique_ptr<Op> MakeConvOp(Builder& builder, const Step& step, const Value& input, Next next);
std::unique_ptr<Op> MakePoolOp(Builder& builder, const Step& step, const Value& input, Next next);
std::unique_ptr<Op> MakeReluOp(Builder& builder, const Step& step, const Value& input);
std::unique_ptr<Op> MakeFlattenOp(Builder& builder, const Step& step, const Value& input);
std::unique_ptr<Op> MakeDenseOp(Builder& builder, const Step& step, const Value& input);

}  // namespace weir::nn
