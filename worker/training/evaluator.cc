#include "worker/training/evaluator.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/checkpoint_reader.h"

namespace weir {

absl::StatusOr<Evaluator> Evaluator::Create(const Job& job, const InputContext& context,
                                            std::uint64_t max_batches) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, job.CreateModel(context.batch_size));
  WEIR_ASSIGN_OR_RETURN(Dataset data, job.TestData(context));
  return Evaluator(job.tensors(), std::move(model), std::move(data), max_batches);
}

Evaluator::Evaluator(std::vector<TensorSpec> tensors, std::unique_ptr<Model> model, Dataset data,
                     std::uint64_t max_batches)
    : tensors_(std::move(tensors)),
      model_(std::move(model)),
      data_(std::move(data)),
      max_batches_(max_batches) {
  for (const TensorSpec& tensor : tensors_) {
    values_.emplace_back(static_cast<std::size_t>(tensor.elements()));
  }
}

absl::StatusOr<Evaluation> Evaluator::EvaluateCheckpoint(const std::string& folder,
                                                         const std::function<bool()>& interrupted) {
  WEIR_ASSIGN_OR_RETURN(CheckpointReader reader, CheckpointReader::Open(folder));
  WEIR_RETURN_IF_ERROR(reader.Check(tensors_));
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    WEIR_RETURN_IF_ERROR(reader.ReadRange(tensors_[t].name, 0, values_[t]));
  }
  const std::vector<std::span<const float>> weights(values_.begin(), values_.end());
  return EvaluateWeights(weights, interrupted);
}

absl::StatusOr<Evaluation> Evaluator::EvaluateWeights(ParameterView weights,
                                                      const std::function<bool()>& interrupted) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<BatchIterator> batches, data_.CreateIterator());
  Evaluation total;
  for (std::uint64_t n = 0; max_batches_ == 0 || n < max_batches_; ++n) {
    if (interrupted && interrupted()) return absl::CancelledError("the evaluation was interrupted");
    WEIR_ASSIGN_OR_RETURN(const std::optional<Batch> batch, batches->Next());
    if (!batch.has_value()) break;
    WEIR_ASSIGN_OR_RETURN(const Evaluation part, model_->Evaluate(*batch, weights));
    total.loss_sum += part.loss_sum;
    total.correct += part.correct;
    total.examples += part.examples;
  }
  return total;
}

}  // namespace weir
