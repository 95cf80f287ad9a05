#pragma once

#include <cstdint>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "weir/model.h"
#include "weir/tensor_spec.h"
#include "worker/nn/buffers.h"
#include "worker/nn/plan.h"
#include "worker/nn/step.h"

namespace weir::nn {

/// What Sequential compiles to. One thread at a time.
class SequentialModel final : public Model {
 public:
  struct Net {
    std::vector<std::int64_t> input_shape;  ///< of one example
    std::vector<Step> steps;                ///< as Schedule orders them
    std::vector<TensorSpec> tensors;
    std::int64_t classes = 0;
    int batch_size = 0;  ///< the largest
  };
  /// Errors: as Sequential::Compile.
  static absl::StatusOr<std::unique_ptr<Model>> Create(Net net);

  absl::StatusOr<float> TrainStep(const Batch& batch, ParameterView weights,
                                  MutableParameterView gradients) override;
  absl::StatusOr<float> TrainStepWith(const Batch& batch, ParameterView weights,
                                      MutableParameterView gradients, StepHooks& hooks) override;
  absl::StatusOr<Evaluation> Evaluate(const Batch& batch, ParameterView weights) override;

 private:
  SequentialModel(Net net, const dnnl::engine& engine, int threads);
  absl::Status CheckBatch(const Batch& batch) const;
  absl::Status CheckLabels(const Batch& batch) const;
  template <typename View>
  absl::Status CheckTensors(const View& view, const char* what) const;
  absl::StatusOr<Plan*> PlanFor(int batch);

  Net net_;
  std::int64_t features_per_example_;
  dnnl::engine engine_;
  int threads_;
  Buffers buffers_;
  std::vector<std::unique_ptr<Plan>> plans_;  // the largest batch first, then by their first use
};

}  // namespace weir::nn
