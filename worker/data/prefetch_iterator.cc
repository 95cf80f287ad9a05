#include <cstdint>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "worker/data/iterators.h"

namespace weir {
namespace {

// A ring of `ahead` + 1 buffers, so that `ahead` can be ready while the consumer still reads one.
// A buffer belongs to the producer from when it is released until it is made, then to the consumer.
// Batches are counted from 0; batch n lies in buffer n % slots:
//   released <= taken <= released + 1,  taken <= made <= released + slots.
class Prefetch final : public BatchIterator {
 public:
  Prefetch(Batcher batcher, std::size_t ahead) : batcher_(std::move(batcher)) {
    slots_.reserve(ahead + 1);
    for (std::size_t i = 0; i <= ahead; ++i) slots_.push_back({batcher_.NewBuffer(), 0});
  }
  ~Prefetch() override {
    {
      MutexLock lock(&mutex_);
      stopped_ = true;
      changed_.NotifyAll();
    }
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Start() {
    try {
      thread_ = std::thread([this] { Produce(); });
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no thread for Dataset::Prefetch: ", error.what()));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<Batch>> Next() override {
    MutexLock lock(&mutex_);
    if (released_ < taken_) {
      ++released_;
      changed_.NotifyAll();
    }
    while (made_ == taken_ && !end_.has_value()) changed_.Wait(&mutex_);
    if (made_ > taken_) {
      const Slot& slot = slots_[taken_++ % slots_.size()];
      return slot.buffer.First(slot.size);
    }
    if (!end_->ok()) return *end_;
    return std::nullopt;
  }

 private:
  struct Slot {
    BatchBuffer buffer;
    std::size_t size;
  };

  void Produce() {
    while (Slot* const slot = WaitForSlot()) {
      const absl::StatusOr<std::size_t> size = batcher_.Fill(slot->buffer);
      MutexLock lock(&mutex_);
      changed_.NotifyAll();
      if (!size.ok() || *size == 0) {
        end_ = size.status();
        return;
      }
      slot->size = *size;
      ++made_;
    }
  }

  // The buffer for the next batch; null once stopped.
  Slot* WaitForSlot() {
    MutexLock lock(&mutex_);
    while (!stopped_ && made_ == released_ + slots_.size()) changed_.Wait(&mutex_);
    return stopped_ ? nullptr : &slots_[made_ % slots_.size()];
  }

  Batcher batcher_;          // of the producer's thread
  std::vector<Slot> slots_;  // see above
  Mutex mutex_;
  CondVar changed_;
  std::uint64_t made_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t released_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);  // set: no more is made, and why
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BatchIterator>> PrefetchIterator(Batcher batcher,
                                                                std::size_t ahead) {
  auto iterator = std::make_unique<Prefetch>(std::move(batcher), ahead);
  if (absl::Status status = iterator->Start(); !status.ok()) return status;
  return std::unique_ptr<BatchIterator>(std::move(iterator));
}

}  // namespace weir
