#include "worker/data/batcher.h"

#include <utility>

namespace weir {

Batcher::Batcher(IndexStreamPtr indices, ExampleReader reader, std::size_t batch_size,
                 bool drop_remainder)
    : indices_(std::move(indices)),
      reader_(std::move(reader)),
      batch_size_(batch_size),
      drop_remainder_(drop_remainder) {}

absl::StatusOr<std::size_t> Batcher::Fill(BatchBuffer& buffer) {
  std::size_t size = 0;
  for (; size < batch_size_; ++size) {
    const absl::StatusOr<std::optional<std::uint32_t>> index = indices_->Next();
    if (!index.ok()) return index.status();
    if (!index->has_value()) break;
    const absl::StatusOr<std::int32_t> label = reader_.Read(**index, buffer.row(size));
    if (!label.ok()) return label.status();
    buffer.labels()[size] = *label;
  }
  return drop_remainder_ && size < batch_size_ ? 0 : size;
}

}  // namespace weir
