#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "weir/batch.h"

namespace weir {

/// One reading of a Dataset. One thread at a time. Allocates nothing once its first batch is out.
class BatchIterator {
 public:
  virtual ~BatchIterator() = default;
  /// The next batch, or nullopt at the end (and ever after). The batch is borrowed: it ends with
  /// the next Next and with the iterator.
  /// Errors: what a Map or Filter function returned; every later call returns it again.
  virtual absl::StatusOr<std::optional<Batch>> Next() = 0;
};

}  // namespace weir
