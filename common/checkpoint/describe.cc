#include "common/checkpoint/describe.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/checkpoint/checkpoint_directory.h"
#include "common/checkpoint/manifest.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using Row = std::vector<std::string>;

/// Columns aligned by spaces, those whose bit is set in `right` to the right.
std::string Table(const std::vector<Row>& rows, unsigned right) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - row[c].size(), ' ');
      absl::StrAppend(&line, c == 0 ? "" : "  ");
      (right >> c & 1) != 0 ? absl::StrAppend(&line, padding, row[c])
                            : absl::StrAppend(&line, row[c], padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string Created(const Manifest& manifest) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", manifest.created, absl::UTCTimeZone());
}

std::uint64_t TotalBytes(const Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const ManifestFile& file : manifest.files) bytes += file.bytes;
  return bytes;
}

Row ListRow(const CheckpointPath& checkpoint, const absl::StatusOr<Manifest>& manifest) {
  if (!manifest.ok()) {
    return {checkpoint.name, absl::StrCat(checkpoint.step.value()), "?", "?", "?", "?", "corrupt"};
  }
  return {checkpoint.name,
          absl::StrCat(checkpoint.step.value()),
          manifest->is_final ? "yes" : "no",
          absl::StrCat(manifest->shards),
          absl::StrCat(TotalBytes(*manifest)),
          Created(*manifest),
          manifest->job};
}

/// "ok", or what is wrong with a listed file.
std::string FileState(const std::string& checkpoint, const ManifestFile& file) {
  struct stat info;
  const std::string path = absl::StrCat(checkpoint, "/", file.file);
  if (stat(path.c_str(), &info) != 0) return errno == ENOENT ? "missing" : std::strerror(errno);
  const auto found = static_cast<std::uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode)) return "not a file";
  if (found == file.bytes) return "ok";
  return absl::StrCat(found < file.bytes ? "truncated" : "too long", ": found ", found, " bytes");
}

std::string Head(const std::string& checkpoint, const Manifest& manifest) {
  std::int64_t elements = 0;
  for (const TensorSpec& tensor : manifest.tensors) elements += tensor.elements();
  std::string optimizer = manifest.optimizer;
  for (const std::string& slot : manifest.optimizer_slots) absl::StrAppend(&optimizer, " +", slot);
  return Table({{"checkpoint", checkpoint},
                {"job", manifest.job},
                {"step", absl::StrCat(manifest.step.value())},
                {"final", manifest.is_final ? "yes" : "no"},
                {"created", Created(manifest)},
                {"optimizer", optimizer},
                {"shards", absl::StrCat(manifest.shards)},
                {"parameters", absl::StrCat(elements)},
                {"bytes", absl::StrCat(TotalBytes(manifest))}},
               0);
}

std::string Tensors(const Manifest& manifest) {
  std::vector<Row> rows = {{"tensor", "dtype", "shape", "elements"}};
  for (const TensorSpec& tensor : manifest.tensors) {
    rows.push_back({tensor.name, "F32", absl::StrCat("[", absl::StrJoin(tensor.shape, ", "), "]"),
                    absl::StrCat(tensor.elements())});
  }
  return Table(rows, 0b1000);
}

}  // namespace

Description DescribeModelDir(const std::string& model_dir) {
  struct stat info;
  if (stat(model_dir.c_str(), &info) != 0) {
    return {"",
            WithExitCode(absl::ErrnoToStatus(
                             errno, absl::StrCat("cannot read the model directory ", model_dir)),
                         ExitCode::kBadData)};
  }
  const absl::StatusOr<std::vector<CheckpointPath>> checkpoints = ListCheckpoints(model_dir);
  if (!checkpoints.ok()) return {"", checkpoints.status()};
  if (checkpoints->empty()) return {absl::StrCat("no checkpoints in ", model_dir, "\n"), {}};
  Description result;
  std::vector<Row> rows = {{"checkpoint", "step", "final", "shards", "bytes", "created", "job"}};
  for (const CheckpointPath& checkpoint : *checkpoints) {
    const absl::StatusOr<Manifest> manifest = ReadManifest(checkpoint.path);
    result.status.Update(manifest.status());
    rows.push_back(ListRow(checkpoint, manifest));
  }
  result.text = Table(rows, 0b11010);
  return result;
}

Description DescribeCheckpoint(const std::string& checkpoint) {
  const absl::StatusOr<Manifest> manifest = ReadManifest(checkpoint);
  if (!manifest.ok()) return {"", manifest.status()};
  Description result;
  std::vector<Row> rows = {{"file", "bytes", "entries", "state"}};
  for (const ManifestFile& file : manifest->files) {
    const std::string state = FileState(checkpoint, file);
    rows.push_back({file.file, absl::StrCat(file.bytes), absl::StrCat(file.entries.size()), state});
    if (state == "ok") continue;
    result.status.Update(
        WithExitCode(absl::DataLossError(absl::StrCat(checkpoint, "/", file.file, ": expected ",
                                                      file.bytes, " bytes: ", state)),
                     ExitCode::kBadData));
  }
  result.text =
      absl::StrCat(Head(checkpoint, *manifest), "\n", Tensors(*manifest), "\n", Table(rows, 0b110));
  return result;
}

}  // namespace weir
