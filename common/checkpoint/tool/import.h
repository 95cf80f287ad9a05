#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/ids.h"
#include "weir/tensor_spec.h"

namespace weir {

struct ImportOptions {
  std::optional<std::uint64_t> step;  ///< none: the metadata's `step`, else 0
  bool convert = false;               ///< take F16, BF16 and F64 too, as float
  std::string job;                    ///< for the manifest; empty: the metadata's `job`, if any
  std::optional<std::vector<TensorSpec>> model;  ///< refuse the file unless it is of this model
};

struct Imported {
  std::string checkpoint;  ///< its folder
  Step step;
  std::uint64_t tensors = 0;
  std::int64_t parameters = 0;
};

/// Makes a checkpoint in `model_dir` (made where missing) out of the tensors of a safetensors file:
/// a job that starts there goes on from it, on any number of ps. Nothing is in `model_dir` before
/// the file's header has passed every check, and after an error no checkpoint more than before.
/// Claims the directory, so that no job may use it meanwhile. Memory: the header and a block.
/// Errors. Exit code 3: a bad file; a tensor that is not F32 (all such are named); a name that no
/// tensor may have; another model. Exit code 2: a directory that is claimed or cannot be written;
/// kFailedPrecondition where it holds a checkpoint of this step or a later one, which a job would
/// go on from instead. Exit code 1: the disk is full.
absl::StatusOr<Imported> ImportSafetensors(const std::string& file, const std::string& model_dir,
                                           const ImportOptions& options);

}  // namespace weir
