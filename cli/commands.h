#pragma once

#include <span>
#include <string>
#include <vector>

namespace weir::cli {

/// Runs `weir ARGUMENTS` and returns its exit code.
int Dispatch(const std::vector<std::string>& arguments);

// One subcommand each; `arguments` are those after its name.
int Local(std::span<const std::string> arguments);
int Run(std::span<const std::string> arguments);
/// One process of `weir local`, as WEIR_MEMBER says.
int Member();
int Status(std::span<const std::string> arguments);
int Bench(std::span<const std::string> arguments);
int Checkpoint(std::span<const std::string> arguments);

}  // namespace weir::cli
