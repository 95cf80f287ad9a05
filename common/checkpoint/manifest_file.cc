#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/checkpoint_name.h"
#include "common/checkpoint/manifest.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

absl::Status Corrupt(const std::string& path, const absl::Status& why) {
  const auto code =
      why.code() == absl::StatusCode::kUnimplemented ? why.code() : absl::StatusCode::kDataLoss;
  return WithExitCode(absl::Status(code, absl::StrCat(path, ": ", why.message())),
                      ExitCode::kBadData);
}

}  // namespace

std::uint64_t StoredBytes(const Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const ManifestFile& file : manifest.files) bytes += file.bytes;
  return bytes;
}

absl::Status WriteManifest(const std::string& folder, const Manifest& manifest) {
  WEIR_ASSIGN_OR_RETURN(const std::string text, FormatManifest(manifest));
  return WriteFileAtomically(folder, kManifestFileName, text);
}

absl::StatusOr<Manifest> ReadManifest(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kManifestFileName);
  const absl::StatusOr<std::string> text = ReadWholeFile(path, kMaxManifestBytes);
  if (!text.ok()) return WithExitCode(text.status(), ExitCode::kBadData);
  absl::StatusOr<Manifest> manifest = ParseManifest(*text);
  if (!manifest.ok()) return Corrupt(path, manifest.status());
  const std::optional<Step> named = StepOfCheckpointFolder(folder);
  if (named.has_value() && *named != manifest->step) {
    return Corrupt(path, absl::DataLossError(absl::StrCat(
                             "it is of step ", manifest->step.value(), ", its folder of step ",
                             named->value(), ": the folder was renamed or copied over")));
  }
  return manifest;
}

}  // namespace weir
