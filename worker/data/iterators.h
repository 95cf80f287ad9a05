#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "weir/batch_iterator.h"
#include "worker/data/batcher.h"

namespace weir {

/// Makes each batch when it is asked for, on the caller's thread.
std::unique_ptr<BatchIterator> DirectIterator(Batcher batcher);

/// Makes up to `ahead` > 0 batches ahead on its own thread, which starts at once. Batches made
/// before an error are delivered before it.
/// Errors: kResourceExhausted if no thread can be had.
absl::StatusOr<std::unique_ptr<BatchIterator>> PrefetchIterator(Batcher batcher, std::size_t ahead);

}  // namespace weir
