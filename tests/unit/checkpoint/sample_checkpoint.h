#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/ids.h"
#include "common/checkpoint/manifest.h"
#include "weir/tensor_spec.h"

namespace weir {

/// A folder of its own under the system's temporary one, removed at the end.
class TempFolder {
 public:
  TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder();
  const std::string& path() const { return path_; }
  /// Names in `folder` (default: this one), sorted.
  std::vector<std::string> Names(const std::string& folder = "") const;

 private:
  std::string path_;
};

/// Several blocks, one block, a scalar and no element at all.
std::vector<TensorSpec> SampleTensors();

/// What every sample checkpoint holds; exact in float32.
float SampleValue(std::size_t tensor, std::int64_t element);

/// The files of a checkpoint of SampleTensors on `shards` ps, without its manifest.
absl::StatusOr<Manifest> WriteSampleFiles(const std::string& folder, Step step, int shards);

/// A complete checkpoint in MODEL_DIR/step-...; returns its path.
absl::StatusOr<std::string> WriteSample(const std::string& model_dir, Step step, int shards);

std::string ReadText(const std::string& path);
void WriteText(const std::string& path, const std::string& text);

}  // namespace weir
