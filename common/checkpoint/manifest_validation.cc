#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/safetensors.h"
#include "common/model/tensor_name.h"

namespace weir {
namespace {

template <typename... Parts>
absl::Status BadManifest(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

/// Keeps a manifest from naming anything outside its own folder.
absl::Status CheckFileName(const std::string& name) {
  const bool plain = name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
  if (!plain || name.size() > 255 || absl::StartsWith(name, ".") ||
      !absl::EndsWith(name, ".safetensors")) {
    return BadManifest("file \"", absl::CHexEscape(name),
                       "\": expected the name of a .safetensors file beside the manifest");
  }
  return absl::OkStatus();
}

struct Run {
  std::int64_t offset;
  std::int64_t elements;
};
using RunsOf = std::vector<std::vector<Run>>;  // by tensor

class EntryCheck {
 public:
  explicit EntryCheck(const Manifest& manifest) : manifest_(manifest) {
    for (const TensorSpec& tensor : manifest.tensors) index_.emplace(tensor.name, index_.size());
    runs_.resize(manifest.tensors.size());
  }

  absl::Status Add(const ManifestFile& file) {
    std::uint64_t bytes = kSafetensorsLengthBytes + 2;  // the shortest header is {}
    for (const ManifestEntry& entry : file.entries) {
      WEIR_RETURN_IF_ERROR(AddEntry(file.file, entry));
      bytes += static_cast<std::uint64_t>(entry.elements) * 4;  // both are below 2^61
      if (bytes > file.bytes) {
        return BadManifest("file ", file.file, ": ", file.bytes, " bytes cannot hold its entries");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckCoverage() {
    for (std::size_t t = 0; t < runs_.size(); ++t) {
      WEIR_RETURN_IF_ERROR(CheckTensor(manifest_.tensors[t], runs_[t]));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status AddEntry(const std::string& file, const ManifestEntry& entry) {
    const auto found = index_.find(entry.tensor);
    if (found == index_.end()) {
      return BadManifest("file ", file, ": an entry of tensor ", QuotedName(entry.tensor),
                         ", which is not listed");
    }
    const std::int64_t total = manifest_.tensors[found->second].elements();
    if (entry.offset < 0 || entry.elements < 0 || entry.offset > total ||
        entry.elements > total - entry.offset) {
      return BadManifest("file ", file, ": ", entry.elements, " elements at ", entry.offset,
                         " of tensor ", QuotedName(entry.tensor), ", which has ", total);
    }
    if (entry.elements == 0 && total > 0) {
      return BadManifest("file ", file, ": an entry of tensor ", QuotedName(entry.tensor),
                         " without elements");
    }
    runs_[found->second].push_back({entry.offset, entry.elements});
    return absl::OkStatus();
  }

  static absl::Status CheckTensor(const TensorSpec& tensor, std::vector<Run>& runs) {
    std::ranges::sort(runs, {}, &Run::offset);
    if (runs.empty()) return BadManifest("tensor ", QuotedName(tensor.name), " is in no file");
    const std::int64_t total = tensor.elements();
    if (total == 0 && runs.size() > 1)
      return BadManifest("tensor ", QuotedName(tensor.name), " is in two files");
    std::int64_t covered = 0;
    for (const Run& run : runs) {
      if (run.offset > covered) {
        return BadManifest("tensor ", QuotedName(tensor.name), ": no file holds elements ", covered,
                           " to ", run.offset - 1);
      }
      if (run.offset < covered) {
        return BadManifest("tensor ", QuotedName(tensor.name), ": two entries hold element ",
                           run.offset);
      }
      covered += run.elements;
    }
    if (covered == total) return absl::OkStatus();
    return BadManifest("tensor ", QuotedName(tensor.name), ": no file holds elements ", covered,
                       " to ", total - 1);
  }

  const Manifest& manifest_;
  absl::flat_hash_map<absl::string_view, std::size_t> index_;
  RunsOf runs_;
};

}  // namespace

absl::Status ValidateManifest(const Manifest& manifest) {
  WEIR_RETURN_IF_ERROR(ValidateTensors(manifest.tensors));
  if (manifest.shards < 1 || manifest.shards > std::numeric_limits<std::uint16_t>::max()) {
    return BadManifest("shards: expected 1 to 65535, found ", manifest.shards);
  }
  if (manifest.files.size() > static_cast<std::size_t>(manifest.shards)) {
    return BadManifest("files: ", manifest.files.size(), " files of ", manifest.shards, " shards");
  }
  EntryCheck check(manifest);
  absl::flat_hash_set<absl::string_view> names;
  for (const ManifestFile& file : manifest.files) {
    WEIR_RETURN_IF_ERROR(CheckFileName(file.file));
    if (!names.insert(file.file).second) return BadManifest("file ", file.file, " is listed twice");
    WEIR_RETURN_IF_ERROR(check.Add(file));
  }
  return check.CheckCoverage();
}

}  // namespace weir
