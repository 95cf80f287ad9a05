#include <optional>
#include <utility>

#include "worker/data/iterators.h"

namespace weir {
namespace {

class Direct final : public BatchIterator {
 public:
  explicit Direct(Batcher batcher) : batcher_(std::move(batcher)), buffer_(batcher_.NewBuffer()) {}

  absl::StatusOr<std::optional<Batch>> Next() override {
    if (end_.has_value()) return AtEnd();
    const absl::StatusOr<std::size_t> size = batcher_.Fill(buffer_);
    if (size.ok() && *size > 0) return buffer_.First(*size);
    end_ = size.status();
    return AtEnd();
  }

 private:
  absl::StatusOr<std::optional<Batch>> AtEnd() const {
    if (!end_->ok()) return *end_;
    return std::nullopt;
  }

  Batcher batcher_;
  BatchBuffer buffer_;
  std::optional<absl::Status> end_;  // set: there is no more, and why
};

}  // namespace

std::unique_ptr<BatchIterator> DirectIterator(Batcher batcher) {
  return std::make_unique<Direct>(std::move(batcher));
}

}  // namespace weir
