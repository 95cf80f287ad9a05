#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "weir/dataset.h"
#include "weir/job.h"
#include "weir/model.h"

namespace weir {

/// Evaluates checkpoints of one job on its test set, batch by batch.
class Evaluator {
 public:
  /// Reads the test set. `max_batches` 0 takes all of it. Errors: as Job::TestData and CreateModel.
  static absl::StatusOr<Evaluator> Create(const Job& job, const InputContext& context,
                                          std::uint64_t max_batches);

  /// Loads the weights from the checkpoint's folder and evaluates them.
  /// Errors: as CheckpointReader (exit 3) for one that is corrupt, of another model, or gone
  /// (pruned meanwhile: see ReadOrNewest); kCancelled once `interrupted` says so.
  absl::StatusOr<Evaluation> EvaluateCheckpoint(const std::string& folder,
                                                const std::function<bool()>& interrupted);
  absl::StatusOr<Evaluation> EvaluateWeights(ParameterView weights,
                                             const std::function<bool()>& interrupted);

 private:
  Evaluator(std::vector<TensorSpec> tensors, std::unique_ptr<Model> model, Dataset data,
            std::uint64_t max_batches);
  std::vector<TensorSpec> tensors_;
  std::unique_ptr<Model> model_;
  Dataset data_;
  std::uint64_t max_batches_;
  std::vector<std::vector<float>> values_;
};

}  // namespace weir
