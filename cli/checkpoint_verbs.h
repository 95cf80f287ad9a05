#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/config/flag_table.h"

namespace weir::cli {

/// The values of every flag of every verb of `weir checkpoint`; a verb looks at its own.
struct CheckpointFlags {
  bool json = false;
  bool force = false;
  bool convert = false;
  std::optional<std::uint64_t> step;
  std::string job;
};

/// One verb of `weir checkpoint`.
struct CheckpointVerb {
  std::string name;
  std::vector<std::string> operands;  ///< what follows the verb, as the usage shows it
  std::string help;
  FlagTable (*flags)(CheckpointFlags& values);
  /// `operands`: as many as above. Returns the exit code.
  int (*run)(std::span<const std::string> operands, const CheckpointFlags& flags);
};

std::span<const CheckpointVerb> CheckpointVerbs();

}  // namespace weir::cli
