#pragma once

#include <string>
#include <vector>

#include "chief/checkpoint_store.h"
#include "common/base/ids.h"
#include "weir/tensor_spec.h"

namespace weir {

/// The chief's checkpoints in MODEL_DIR, in weir's format (docs/checkpoints.md).
class ModelDirStore final : public chief::CheckpointStore {
 public:
  struct Facts {
    std::string job;
    std::string optimizer;
    std::vector<TensorSpec> tensors;
    int shards = 1;
    Incarnation chief;
  };
  ModelDirStore(std::string model_dir, Facts facts)
      : model_dir_(std::move(model_dir)), facts_(std::move(facts)) {}

  absl::Status Commit(const chief::CheckpointRecord& record) override;
  absl::Status MarkFinal(const std::string& folder) override;
  absl::Status Prune(int keep) override;

 private:
  std::string PathOf(const std::string& folder) const;

  const std::string model_dir_;
  const Facts facts_;
};

}  // namespace weir
