#pragma once

#include <string>
#include <vector>

namespace weir {

// What posix_spawn wants of the processes that this program starts.

/// Null-terminated, into `strings`, which must outlive it.
std::vector<char*> SpawnPointers(std::vector<std::string>& strings);

/// This process's environment without what would make its child a member of some job: TF_CONFIG and
/// the token.
std::vector<std::string> EnvironmentWithoutJob();

}  // namespace weir
