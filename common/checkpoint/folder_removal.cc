#include "common/checkpoint/folder_removal.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/manifest.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

absl::Status Unlink(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
}

bool WrittenByWeir(const std::string& name) {
  return absl::EndsWith(name, ".safetensors") ||
         (absl::StartsWith(name, ".") && absl::StrContains(name, ".tmp-"));
}

absl::Status RemoveManifest(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kManifestFileName);
  if (unlink(path.c_str()) == 0) return SyncFolder(folder);
  if (errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
}

}  // namespace

absl::Status RemoveCheckpointFiles(const std::string& folder) {
  WEIR_RETURN_IF_ERROR(RemoveManifest(folder));
  std::vector<std::string> doomed;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (WrittenByWeir(entries->path().filename().string())) {
      doomed.push_back(entries->path().string());
    }
  }
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot list ", folder));
  absl::Status first;
  for (const std::string& path : doomed) first.Update(Unlink(path));
  return first;
}

absl::Status RemoveCheckpoint(const std::string& folder) {
  std::error_code ignored;
  if (fs::is_symlink(folder, ignored)) return Unlink(folder);  // what it points to is not ours
  WEIR_RETURN_IF_ERROR(RemoveCheckpointFiles(folder));
  if (rmdir(folder.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  if (errno == ENOTEMPTY || errno == EEXIST) {
    LogWarning(folder, " is no checkpoint any more, but holds other files: it stays");
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", folder));
}

}  // namespace weir
