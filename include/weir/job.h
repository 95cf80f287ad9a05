#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "weir/dataset.h"
#include "weir/model.h"
#include "weir/tensor_spec.h"

namespace weir {

/// Which part of the data one process reads.
struct InputContext {
  std::string data_dir;    ///< empty: the job's own default
  int batch_size = 256;    ///< examples a batch
  int worker = 0;          ///< reads share `worker` of `workers`
  int workers = 1;         ///< how many share the data
  std::uint64_t seed = 0;  ///< the job's, the same for all
};

/// What is trained: tensors, model and data. Another job is another subclass in a file of its own.
/// All members of a cluster must construct the same job. Methods are const and thread-safe.
class Job {
 public:
  virtual ~Job() = default;
  /// Stands in logs and checkpoints.
  virtual std::string name() const = 0;
  /// The parameters, and how their first values are made.
  virtual std::vector<TensorSpec> tensors() const = 0;
  /// Where TrainSpec::max_steps, or --max-steps, does not say.
  virtual std::uint64_t default_max_steps() const = 0;
  /// A model for batches of at most `batch_size`.
  virtual absl::StatusOr<std::unique_ptr<Model>> CreateModel(int batch_size) const = 0;
  /// Batches for training, endless unless the job is meant to end with its data.
  /// Errors: exit code 3 for missing or corrupt data; 2 for a batch larger than the share.
  virtual absl::StatusOr<Dataset> TrainingData(const InputContext& context) const = 0;
  /// One pass over the test set, the same for everybody; `worker` is not used.
  virtual absl::StatusOr<Dataset> TestData(const InputContext& context) const = 0;
};

}  // namespace weir
