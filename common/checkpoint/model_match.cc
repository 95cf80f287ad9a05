#include "common/checkpoint/model_match.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/text_table.h"
#include "common/model/tensor_name.h"

namespace weir {
namespace {

using ByName = absl::flat_hash_map<absl::string_view, const TensorSpec*>;

ByName IndexOf(std::span<const TensorSpec> tensors) {
  ByName index;
  for (const TensorSpec& tensor : tensors) index.emplace(tensor.name, &tensor);
  return index;
}

}  // namespace

std::optional<std::string> ModelMismatch(std::span<const TensorSpec> stored,
                                         std::span<const TensorSpec> wanted) {
  const ByName in_store = IndexOf(stored);
  for (const TensorSpec& tensor : wanted) {
    const auto found = in_store.find(tensor.name);
    if (found == in_store.end()) {
      return absl::StrCat("it lacks tensor ", QuotedName(tensor.name), " ",
                          ShapeText(tensor.shape));
    }
    if (found->second->shape != tensor.shape) {
      return absl::StrCat("tensor ", QuotedName(tensor.name), " has shape ",
                          ShapeText(found->second->shape), " there, ", ShapeText(tensor.shape),
                          " in this job");
    }
  }
  const ByName in_job = IndexOf(wanted);
  for (const TensorSpec& tensor : stored) {
    if (in_job.contains(tensor.name)) continue;
    return absl::StrCat("it has tensor ", QuotedName(tensor.name), " ", ShapeText(tensor.shape),
                        ", which this job does not");
  }
  return std::nullopt;
}

}  // namespace weir
