#include "weir/nn/sequential.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "weir/exit_code.h"
#include "worker/nn/sequential_model.h"
#include "worker/nn/step.h"

namespace weir::nn {
namespace {

// Keeps the product of three in 63 bits.
constexpr std::int64_t kMaxInputDimension = std::int64_t{1} << 20;

absl::Status CheckInput(const std::vector<std::int64_t>& shape) {
  const bool sane =
      std::ranges::all_of(shape, [](std::int64_t d) { return d > 0 && d <= kMaxInputDimension; });
  if (sane && (shape.size() == 1 || shape.size() == 3)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the input's shape must be [height, width, channels] or [features], all at "
                   "least 1 and at most 2^20, not [",
                   absl::StrJoin(shape, ", "), "]"));
}

const std::string& GivenName(const Layer& layer) {
  return std::visit([](const auto& kind) -> const std::string& { return kind.name; }, layer);
}

}  // namespace

/// The layers so far, with their shapes.
class Sequential::Stack {
 public:
  explicit Stack(std::vector<std::int64_t> input_shape)
      : input_shape_(std::move(input_shape)),
        shape_(input_shape_),
        status_(CheckInput(input_shape_)) {}

  void Add(const Layer& layer) {
    if (status_.ok()) status_ = Append(layer);
  }
  const absl::Status& status() const { return status_; }
  const std::vector<TensorSpec>& tensors() const { return tensors_; }
  const std::vector<std::int64_t>& output_shape() const { return shape_; }
  absl::StatusOr<std::unique_ptr<Model>> Compile(int batch_size) const;

 private:
  absl::Status Append(const Layer& layer);
  std::string NameFor(const Layer& layer) const;

  std::vector<std::int64_t> input_shape_;
  std::vector<std::int64_t> shape_;  // of the last layer's output
  std::vector<Step> steps_;
  std::vector<TensorSpec> tensors_;
  absl::Status status_;
};

std::string Sequential::Stack::NameFor(const Layer& layer) const {
  if (!GivenName(layer).empty()) return GivenName(layer);
  const auto taken = [this](const std::string& name) {
    return std::ranges::any_of(steps_, [&](const Step& step) { return step.name == name; });
  };
  std::string name = KerasName(layer);
  for (int i = 1; taken(name); ++i) name = absl::StrCat(KerasName(layer), "_", i);
  return name;
}

absl::Status Sequential::Stack::Append(const Layer& layer) {
  std::string name = NameFor(layer);
  for (const Step& step : steps_) {
    if (step.name != name) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("two layers are named '", name, "'; give one of them another name"));
  }
  WEIR_ASSIGN_OR_RETURN(Step step, MakeStep(layer, std::move(name), shape_));
  step.kernel_tensor = tensors_.size();
  std::vector<TensorSpec> tensors = tensors_;
  for (TensorSpec& tensor : TensorsOf(step)) tensors.push_back(std::move(tensor));
  WEIR_RETURN_IF_ERROR(ValidateTensors(tensors));
  tensors_ = std::move(tensors);
  shape_ = step.out;
  steps_.push_back(std::move(step));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Model>> Sequential::Stack::Compile(int batch_size) const {
  WEIR_RETURN_IF_ERROR(status_);
  if (steps_.empty()) return absl::InvalidArgumentError("the net has no layer; Add some first");
  if (shape_.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "layer '", steps_.back().name, "' is the last and gives [", absl::StrJoin(shape_, ", "),
        "], but the loss needs [classes]; end the net with Flatten and Dense"));
  }
  if (batch_size < 1) {
    return WithExitCode(absl::InvalidArgumentError(
                            absl::StrCat("the batch size must be at least 1, not ", batch_size)),
                        ExitCode::kBadUsage);
  }
  // Features are flat already, so a leading Flatten is only another view of them.
  std::vector<Step> steps = Schedule(steps_);
  const auto first = std::ranges::find_if(
      steps, [](const Step& step) { return step.kind != Step::Kind::kFlatten; });
  const auto input_shape = first == steps.begin() ? input_shape_ : (first - 1)->out;
  steps.erase(steps.begin(), first);
  return SequentialModel::Create({.input_shape = input_shape,
                                  .steps = std::move(steps),
                                  .tensors = tensors_,
                                  .classes = shape_[0],
                                  .batch_size = batch_size});
}

Sequential::Sequential(std::vector<std::int64_t> input_shape)
    : stack_(std::make_unique<Stack>(std::move(input_shape))) {}
Sequential::Sequential(const Sequential& other) : stack_(std::make_unique<Stack>(*other.stack_)) {}
Sequential& Sequential::operator=(const Sequential& other) {
  stack_ = std::make_unique<Stack>(*other.stack_);
  return *this;
}
Sequential::Sequential(Sequential&&) noexcept = default;
Sequential& Sequential::operator=(Sequential&&) noexcept = default;
Sequential::~Sequential() = default;

Sequential& Sequential::Add(const Layer& layer) {
  stack_->Add(layer);
  return *this;
}
const absl::Status& Sequential::status() const { return stack_->status(); }
const std::vector<TensorSpec>& Sequential::tensors() const { return stack_->tensors(); }
const std::vector<std::int64_t>& Sequential::output_shape() const { return stack_->output_shape(); }
absl::StatusOr<std::unique_ptr<Model>> Sequential::Compile(int batch_size) const {
  return stack_->Compile(batch_size);
}

}  // namespace weir::nn
