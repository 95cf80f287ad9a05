#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/config/cluster_spec.h"
#include "common/config/environment.h"

namespace weir {

/// What a TF_CONFIG says.
struct TfConfig {
  std::optional<ClusterSpec> cluster;  ///< empty: run a local cluster of one ps and one worker
  std::optional<std::string> model_dir;
  std::string notes;  ///< keys that were ignored, for a debug line; may be empty
};

/// Reads `text` by TensorFlow's rules (docs/configuration.md). Errors: kInvalidArgument (exit 2)
/// listing every mistake at once, a line each: key, the value found, what to write instead.
/// `source` ("TF_CONFIG", a file's name) stands in the message.
absl::StatusOr<TfConfig> ParseTfConfig(absl::string_view text, absl::string_view source);

/// Reads the file when its name is not empty, else the variable TF_CONFIG; one that is not set is
/// a TfConfig without a cluster. Errors: as ParseTfConfig, and for a file that cannot be read.
absl::StatusOr<TfConfig> LoadTfConfig(const std::string& file, const Environment& environment);

}  // namespace weir
