#include "common/checkpoint/shard_file_entries.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/shard_plan.h"
#include "common/checkpoint/text_table.h"
#include "common/model/tensor_name.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

template <typename... Parts>
absl::Status BadEntries(const Parts&... parts) {
  return WithExitCode(absl::DataLossError(absl::StrCat(parts...)), ExitCode::kBadData);
}

}  // namespace

ShardFileEntries::ShardFileEntries(std::string path, const SafetensorsHeader& header)
    : path_(std::move(path)) {
  for (const SafetensorsEntry& entry : header.entries) by_name_.emplace(entry.name, &entry);
}

absl::StatusOr<const SafetensorsEntry*> ShardFileEntries::Find(const TensorSpec& tensor,
                                                               const ManifestEntry& listed) const {
  const std::string name =
      ShardEntryName(tensor.name, listed.offset, listed.elements, tensor.elements());
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return BadEntries(path_, ": no entry ", QuotedName(name));
  const SafetensorsEntry& entry = *found->second;
  const std::vector<std::int64_t> shape = listed.elements == tensor.elements()
                                              ? tensor.shape
                                              : std::vector<std::int64_t>{listed.elements};
  if (entry.dtype == "F32" && entry.shape == shape) return &entry;
  return BadEntries(path_, ": entry ", QuotedName(name), " is ", entry.dtype, " ",
                    ShapeText(entry.shape), "; the manifest says F32 ", ShapeText(shape));
}

}  // namespace weir
