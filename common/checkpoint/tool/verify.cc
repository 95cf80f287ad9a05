#include "common/checkpoint/tool/verify.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"
#include "common/base/checksum.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/safetensors_file.h"
#include "common/checkpoint/shard_file_entries.h"
#include "common/model/tensor_name.h"

namespace weir {
namespace {

constexpr std::size_t kScanElements = (1 << 20) / sizeof(float);

/// The bytes of an F32 entry, chunk by chunk.
class EntryScan {
 public:
  EntryScan() : buffer_(kScanElements) {}

  /// The checksum of an entry; its values are counted in `values`.
  absl::StatusOr<std::uint64_t> Scan(const SafetensorsFile& file, std::size_t entry,
                                     NonFinite& values) {
    const SafetensorsEntry& of = file.header().entries[entry];
    const std::uint64_t bytes = of.end - of.begin;
    RunningChecksum checksum;
    for (std::uint64_t done = 0; done < bytes;) {
      const std::uint64_t left = (bytes - done) / sizeof(float);
      const std::span<float> chunk =
          std::span(buffer_).first(std::min<std::uint64_t>(left, kScanElements));
      const MutableByteSpan raw = std::as_writable_bytes(chunk);
      if (absl::Status read = file.Read(entry, done, raw); !read.ok()) return read;
      checksum.Append(raw);
      CountNonFinite(chunk, values);
      done += raw.size();
    }
    return checksum.value();
  }

 private:
  std::vector<float> buffer_;
};

class CheckpointVerifier {
 public:
  CheckpointVerifier(const Manifest& manifest, Verification& result)
      : manifest_(manifest), result_(result) {
    for (std::size_t t = 0; t < manifest.tensors.size(); ++t) {
      index_.emplace(manifest.tensors[t].name, t);
    }
    values_.resize(manifest.tensors.size());
  }

  void Run() {
    for (const ManifestFile& listed : manifest_.files) VerifyFile(listed);
    for (std::size_t t = 0; t < values_.size(); ++t) {
      if (values_[t].nan + values_[t].infinite == 0) continue;
      result_.not_finite.push_back({manifest_.tensors[t].name, values_[t]});
    }
  }

 private:
  void VerifyFile(const ManifestFile& listed) {
    const std::string path = absl::StrCat(result_.path, "/", listed.file);
    const absl::StatusOr<OpenedFile> opened = OpenForReading(path);
    if (!opened.ok()) return result_.AddProblem(opened.status().message());
    if (opened->bytes != listed.bytes) {
      return result_.AddProblem(absl::StrCat(
          path, opened->bytes < listed.bytes ? ": truncated" : ": too long", ": expected ",
          listed.bytes, " bytes, found ", opened->bytes, "; its entries were not looked at"));
    }
    const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
    if (!file.ok()) return result_.AddProblem(file.status().message());
    VerifyEntries(listed, *file);
  }

  void VerifyEntries(const ManifestFile& listed, const SafetensorsFile& file) {
    const std::vector<SafetensorsEntry>& stored = file.header().entries;
    const ShardFileEntries entries(file.path(), file.header());
    std::vector<bool> known(stored.size(), false);
    for (const ManifestEntry& entry : listed.entries) {
      const std::size_t t = index_.at(entry.tensor);  // a valid manifest lists it
      const absl::StatusOr<const SafetensorsEntry*> found =
          entries.Find(manifest_.tensors[t], entry);
      if (!found.ok()) {
        result_.AddProblem(found.status().message());
        continue;
      }
      const auto at = static_cast<std::size_t>(*found - stored.data());
      known[at] = true;
      VerifyValues(file, at, entry, values_[t]);
    }
    for (std::size_t i = 0; i < stored.size(); ++i) {
      if (known[i]) continue;
      result_.AddProblem(absl::StrCat(file.path(), ": entry ", QuotedName(stored[i].name),
                                      " is not what the manifest says"));
    }
  }

  void VerifyValues(const SafetensorsFile& file, std::size_t at, const ManifestEntry& entry,
                    NonFinite& values) {
    const absl::StatusOr<std::uint64_t> found = scan_.Scan(file, at, values);
    if (!found.ok()) return result_.AddProblem(found.status().message());
    if (*found == entry.checksum) return;
    result_.AddProblem(
        absl::StrCat(file.path(), ": tensor ", QuotedName(entry.tensor), ", elements ",
                     entry.offset, " to ", entry.offset + entry.elements - 1,
                     ": wrong checksum: expected ", absl::Hex(entry.checksum, absl::kZeroPad16),
                     ", found ", absl::Hex(*found, absl::kZeroPad16)));
  }

  const Manifest& manifest_;
  Verification& result_;
  absl::flat_hash_map<absl::string_view, std::size_t> index_;  // into manifest_.tensors
  std::vector<NonFinite> values_;                              // by tensor
  EntryScan scan_;
};

void VerifyCheckpoint(Verification& result) {
  const absl::StatusOr<Manifest> manifest = ReadManifest(result.path);
  if (!manifest.ok()) return result.AddProblem(manifest.status().message());
  result.step = manifest->step.value();
  result.tensors = manifest->tensors.size();
  result.files = manifest->files.size();
  result.bytes = StoredBytes(*manifest);
  CheckpointVerifier(*manifest, result).Run();
}

void VerifyFile(Verification& result) {
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(result.path);
  if (!file.ok()) return result.AddProblem(file.status().message());
  const std::vector<SafetensorsEntry>& entries = file->header().entries;
  result.tensors = entries.size();
  result.files = 1;
  result.bytes = file->bytes();
  EntryScan scan;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].dtype != "F32") continue;
    NonFinite values;
    const absl::StatusOr<std::uint64_t> read = scan.Scan(*file, i, values);
    if (!read.ok()) return result.AddProblem(read.status().message());
    if (values.nan + values.infinite > 0) result.not_finite.push_back({entries[i].name, values});
  }
}

}  // namespace

void Verification::AddProblem(absl::string_view what) {
  if (problems.size() < kMaxShownProblems) problems.emplace_back(what);
  ++problem_count;
}

Verification VerifyPath(const std::string& path) {
  Verification result{.path = path};
  std::error_code ignored;
  result.is_checkpoint = std::filesystem::is_directory(path, ignored);
  result.is_checkpoint ? VerifyCheckpoint(result) : VerifyFile(result);
  return result;
}

}  // namespace weir
