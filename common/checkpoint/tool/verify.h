#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/tool/float_scan.h"
#include "common/checkpoint/tool/report.h"

namespace weir {

/// Problems beyond so many are counted only.
inline constexpr std::size_t kMaxShownProblems = 20;

/// What VerifyPath looked at and found.
struct Verification {
  struct Values {
    std::string tensor;
    NonFinite count;
  };

  std::string path;
  bool is_checkpoint = false;  ///< else a safetensors file
  std::uint64_t step = 0;      ///< of a checkpoint
  std::uint64_t tensors = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> problems;  ///< the first, each with file, tensor, expected and found
  std::uint64_t problem_count = 0;
  std::vector<Values> not_finite;  ///< tensors with NaN or infinity: odd, but no corruption

  void AddProblem(absl::string_view what);
};

/// Reads all of a checkpoint (a folder) or of a safetensors file, and goes on after a problem. Of a
/// checkpoint: the manifest (legal, every element of every tensor in exactly one entry), each
/// file's size and header, its entries against the manifest in both directions, every checksum. Of
/// a file alone, which has no checksums: its header. Memory: the manifest, one header, 1 MiB.
Verification VerifyPath(const std::string& path);

/// As text: a line each problem and each tensor with values that are not finite, then a verdict.
/// The status has exit code 3 where there is a problem.
Report ReportOn(const Verification& verification, ReportFormat format);

}  // namespace weir
