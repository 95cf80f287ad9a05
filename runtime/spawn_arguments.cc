#include "runtime/spawn_arguments.h"

#include <unistd.h>

#include "absl/strings/match.h"

extern char** environ;

namespace weir {

std::vector<char*> SpawnPointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentWithoutJob() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!absl::StartsWith(*entry, "WEIR_TOKEN=") && !absl::StartsWith(*entry, "TF_CONFIG=")) {
      environment.emplace_back(*entry);
    }
  }
  return environment;
}

}  // namespace weir
