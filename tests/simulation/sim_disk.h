#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/base/ids.h"
#include "tests/simulation/processes.h"

namespace weir::sim {

/// One shard's file: its blocks at the cut. Appears whole, by rename, or not at all.
struct SimShardFile {
  ProcessId chief;  ///< of the run that it was written in
  struct Entry {
    BlockId block;
    Version version;
    std::vector<float> values;
  };
  std::vector<Entry> entries;
};

/// A job's model directory: it outlives processes. What a process writes appears in the steps in
/// which the files' owner would see it, so that a death falls between any two.
class SimDisk {
 public:
  struct Manifest {
    ProcessId chief;
    bool is_final = false;
  };
  struct Folder {
    std::uint64_t number = 0;  ///< tells it from another one of that name, removed since
    std::map<ShardIndex, SimShardFile> files;
    std::optional<Manifest> manifest;
  };

  /// Makes the folder where it is missing.
  Folder& operator[](Step step) {
    Folder& folder = folders_[step];
    if (folder.number == 0) folder.number = ++folders_made_;
    return folder;
  }
  const Folder* Find(Step step) const {
    const auto found = folders_.find(step);
    return found == folders_.end() ? nullptr : &found->second;
  }
  /// The complete ones, by ascending step.
  std::vector<Step> Complete() const {
    std::vector<Step> complete;
    for (const auto& [step, folder] : folders_) {
      if (folder.manifest.has_value()) complete.push_back(step);
    }
    return complete;
  }
  std::optional<Step> Newest() const {
    const std::vector<Step> complete = Complete();
    return complete.empty() ? std::nullopt : std::optional(complete.back());
  }
  /// The newest that is marked final and has reached `max`.
  bool HasFinal(Step max) const {
    for (const auto& [step, folder] : folders_) {
      if (step >= max && folder.manifest.has_value() && folder.manifest->is_final) return true;
    }
    return false;
  }
  void RemoveIncomplete() {
    std::erase_if(folders_, [](const auto& entry) { return !entry.second.manifest.has_value(); });
  }
  void RemoveIncompleteBelow(Step step) {
    std::erase_if(folders_, [step](const auto& entry) {
      return !entry.second.manifest.has_value() && entry.first < step;
    });
  }

 private:
  std::map<Step, Folder> folders_;
  std::uint64_t folders_made_ = 0;
};

}  // namespace weir::sim
