#include "weir/tensor_spec.h"

#include <limits>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/strict_json.h"
#include "common/model/tensor_name.h"

namespace weir {
namespace {

absl::Status ValidateTensor(const TensorSpec& tensor) {
  if (tensor.name.empty()) return absl::InvalidArgumentError("a tensor has an empty name");
  if (tensor.name == "__metadata__" || tensor.name.find('@') != std::string::npos ||
      tensor.name.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", QuotedName(tensor.name),
                     ": a name must not hold '@' or NUL, nor be __metadata__"));
  }
  // Checkpoints are JSON, which has no other names.
  if (!QuoteJson(tensor.name).ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", QuotedName(tensor.name), ": its name is not UTF-8"));
  }
  // Bytes must fit a signed 64-bit offset.
  std::int64_t room = std::numeric_limits<std::int64_t>::max() / 4;
  for (std::int64_t dimension : tensor.shape) {
    if (dimension < 0) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", QuotedName(tensor.name),
                                                     ": dimension ", dimension, " is negative"));
    }
    if (dimension > 0) room /= dimension;
    if (room == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", QuotedName(tensor.name), ": its size overflows 64 bits"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::int64_t TensorSpec::elements() const {
  std::int64_t count = 1;
  for (std::int64_t dimension : shape) count *= dimension;
  return count;
}

absl::Status ValidateTensors(std::span<const TensorSpec> tensors) {
  absl::flat_hash_set<absl::string_view> names;
  for (const TensorSpec& tensor : tensors) {
    if (absl::Status status = ValidateTensor(tensor); !status.ok()) return status;
    if (!names.insert(tensor.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two tensors are named ", QuotedName(tensor.name)));
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
