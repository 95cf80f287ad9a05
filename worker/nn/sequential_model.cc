#include "worker/nn/sequential_model.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/model/tensor_name.h"
#include "weir/exit_code.h"
#include "worker/nn/softmax_loss.h"
#include "worker/nn/threads.h"

namespace weir::nn {
namespace {

// Batches are of one size but for the last of a pass; a caller who varies it more gets the oldest
// of the other sizes replaced.
constexpr std::size_t kMaxPlans = 4;

std::int64_t Product(const std::vector<std::int64_t>& shape) {
  std::int64_t product = 1;
  for (const std::int64_t dimension : shape) product *= dimension;
  return product;
}

class NoHooks final : public StepHooks {
  absl::Status AwaitWeights(std::size_t /*tensor*/) override { return absl::OkStatus(); }
  absl::Status GradientReady(std::size_t /*tensor*/) override { return absl::OkStatus(); }
};

}  // namespace

SequentialModel::SequentialModel(Net net, const dnnl::engine& engine, int threads)
    : net_(std::move(net)),
      features_per_example_(Product(net_.input_shape)),
      engine_(engine),
      threads_(threads) {}

absl::StatusOr<std::unique_ptr<Model>> SequentialModel::Create(Net net) {
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    std::unique_ptr<SequentialModel> model(
        new SequentialModel(std::move(net), engine, nn::threads()));
    const ScopedThreads scope(model->threads_);
    if (auto plan = model->PlanFor(model->net_.batch_size); !plan.ok()) return plan.status();
    return model;
  } catch (const dnnl::error& error) {
    return absl::InternalError(absl::StrCat("oneDNN has no CPU engine here: ", error.what()));
  }
}

absl::StatusOr<Plan*> SequentialModel::PlanFor(int batch) {
  for (const auto& plan : plans_) {
    if (plan->batch() == batch) return plan.get();
  }
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan,
                        Plan::Create(engine_, buffers_, net_.input_shape, net_.steps, batch,
                                     /*warns=*/plans_.empty()));
  if (plans_.size() == kMaxPlans) plans_.erase(plans_.begin() + 1);
  plans_.push_back(std::move(plan));
  return plans_.back().get();
}

absl::StatusOr<float> SequentialModel::TrainStep(const Batch& batch, ParameterView weights,
                                                 MutableParameterView gradients) {
  NoHooks none;
  return TrainStepWith(batch, weights, gradients, none);
}

absl::StatusOr<float> SequentialModel::TrainStepWith(const Batch& batch, ParameterView weights,
                                                     MutableParameterView gradients,
                                                     StepHooks& hooks) {
  WEIR_RETURN_IF_ERROR(CheckBatch(batch));
  WEIR_RETURN_IF_ERROR(CheckTensors(weights, "weights"));
  WEIR_RETURN_IF_ERROR(CheckTensors(gradients, "gradients"));
  const ScopedThreads scope(threads_);
  WEIR_ASSIGN_OR_RETURN(Plan* const plan, PlanFor(batch.size));
  WEIR_RETURN_IF_ERROR(plan->Forward(batch.features.data(), weights, hooks));
  const double loss = SoftmaxCrossEntropy(plan->logits(), batch.labels, plan->logits_gradient());
  WEIR_RETURN_IF_ERROR(plan->Backward(gradients, hooks));
  return static_cast<float>(loss / batch.size);
}

absl::StatusOr<Evaluation> SequentialModel::Evaluate(const Batch& batch, ParameterView weights) {
  WEIR_RETURN_IF_ERROR(CheckBatch(batch));
  WEIR_RETURN_IF_ERROR(CheckTensors(weights, "weights"));
  const ScopedThreads scope(threads_);
  WEIR_ASSIGN_OR_RETURN(Plan* const plan, PlanFor(batch.size));
  NoHooks none;
  WEIR_RETURN_IF_ERROR(plan->Forward(batch.features.data(), weights, none));
  return Evaluation{.loss_sum = SoftmaxCrossEntropy(plan->logits(), batch.labels, {}),
                    .correct = CountCorrect(plan->logits(), batch.labels),
                    .examples = batch.size};
}

absl::Status SequentialModel::CheckBatch(const Batch& batch) const {
  if (batch.size < 1 || batch.size > net_.batch_size) {
    return WithExitCode(absl::InvalidArgumentError(absl::StrCat(
                            "a batch of ", batch.size, " examples, but the model was compiled for ",
                            "1 to ", net_.batch_size, "; compile it with a larger batch size")),
                        ExitCode::kBadUsage);
  }
  const auto examples = static_cast<std::size_t>(batch.size);
  const std::size_t features = examples * static_cast<std::size_t>(features_per_example_);
  if (batch.features.size() != features || batch.labels.size() != examples) {
    return absl::InvalidArgumentError(
        absl::StrCat("a batch of ", batch.size, " examples holds ", batch.features.size(),
                     " features and ", batch.labels.size(), " labels, but the model needs ",
                     features, " and ", batch.size, "; does the data have the input's shape?"));
  }
  return CheckLabels(batch);
}

absl::Status SequentialModel::CheckLabels(const Batch& batch) const {
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    if (batch.labels[i] >= 0 && batch.labels[i] < net_.classes) continue;
    return WithExitCode(
        absl::InvalidArgumentError(absl::StrCat(
            "example ", i, " of the batch has label ", batch.labels[i], ", but the model has ",
            net_.classes, " classes, 0 to ", net_.classes - 1, "; check the labels' file")),
        ExitCode::kBadData);
  }
  return absl::OkStatus();
}

template <typename View>
absl::Status SequentialModel::CheckTensors(const View& view, const char* what) const {
  if (view.size() != net_.tensors.size()) {
    return absl::InvalidArgumentError(absl::StrCat(view.size(), " tensors of ", what,
                                                   ", but the model has ", net_.tensors.size()));
  }
  for (std::size_t i = 0; i < view.size(); ++i) {
    const std::int64_t elements = net_.tensors[i].elements();
    if (static_cast<std::int64_t>(view[i].size()) == elements) continue;
    return absl::InvalidArgumentError(absl::StrCat(what, " of ", QuotedName(net_.tensors[i].name),
                                                   " have ", view[i].size(),
                                                   " elements, but the tensor has ", elements));
  }
  return absl::OkStatus();
}

}  // namespace weir::nn
