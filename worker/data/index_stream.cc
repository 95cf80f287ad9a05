#include "worker/data/index_stream.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace weir {
namespace {

using Index = absl::StatusOr<std::optional<std::uint32_t>>;

class Count final : public IndexStream {
 public:
  explicit Count(std::uint32_t examples) : examples_(examples) {}
  Index Next() override {
    if (next_ == examples_) return std::nullopt;
    return next_++;
  }
  void Restart() override { next_ = 0; }

 private:
  const std::uint32_t examples_;
  std::uint32_t next_ = 0;
};

class Shard final : public IndexStream {
 public:
  Shard(IndexStreamPtr from, std::int64_t count, std::int64_t index)
      : from_(std::move(from)), count_(count), index_(index), skip_(index) {}

  Index Next() override {
    for (; skip_ > 0; --skip_) {
      Index skipped = from_->Next();
      if (!skipped.ok() || !skipped->has_value()) return skipped;
    }
    skip_ = count_ - 1;
    return from_->Next();
  }
  void Restart() override {
    from_->Restart();
    skip_ = index_;
  }

 private:
  const IndexStreamPtr from_;
  const std::int64_t count_;
  const std::int64_t index_;
  std::int64_t skip_;
};

class Filter final : public IndexStream {
 public:
  Filter(IndexStreamPtr from, ExampleReader reader, FilterFunction predicate)
      : from_(std::move(from)),
        reader_(std::move(reader)),
        predicate_(std::move(predicate)),
        features_(reader_.features()) {}

  Index Next() override {
    while (true) {
      Index index = from_->Next();
      if (!index.ok() || !index->has_value()) return index;
      const absl::StatusOr<std::int32_t> label = reader_.Read(**index, features_);
      if (!label.ok()) return label.status();
      if (predicate_(features_, *label)) return index;
    }
  }
  void Restart() override { from_->Restart(); }

 private:
  const IndexStreamPtr from_;
  const ExampleReader reader_;
  const FilterFunction predicate_;
  std::vector<float> features_;
};

// SplitMix64 (Steele, Lea, Flood 2014). The standard library's distributions differ from one
// implementation to the next; an order must not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Uniform in [0, bound): Lemire 2019, "Fast random integer generation in an interval".
  std::uint32_t Below(std::uint32_t bound) {
    std::uint64_t product = std::uint64_t{Next()} * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint32_t threshold = -bound % bound;
      while (static_cast<std::uint32_t>(product) < threshold) {
        product = std::uint64_t{Next()} * bound;
      }
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  std::uint32_t Next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return static_cast<std::uint32_t>((x ^ (x >> 31)) >> 32);
  }

  std::uint64_t state_;
};

class Shuffle final : public IndexStream {
 public:
  Shuffle(IndexStreamPtr from, std::uint32_t buffer, std::uint64_t seed)
      : from_(std::move(from)), buffer_(buffer), random_(seed) {
    held_.reserve(buffer);
  }

  Index Next() override {
    while (!drained_ && held_.size() < buffer_) {
      Index index = from_->Next();
      if (!index.ok()) return index;
      if (index->has_value()) {
        held_.push_back(**index);
      } else {
        drained_ = true;
      }
    }
    if (held_.empty()) return std::nullopt;
    std::uint32_t& drawn = held_[random_.Below(static_cast<std::uint32_t>(held_.size()))];
    const std::uint32_t result = std::exchange(drawn, held_.back());
    held_.pop_back();
    return result;
  }
  void Restart() override {
    from_->Restart();
    held_.clear();
    drained_ = false;
  }

 private:
  const IndexStreamPtr from_;
  const std::size_t buffer_;
  Random random_;
  std::vector<std::uint32_t> held_;
  bool drained_ = false;
};

class Repeat final : public IndexStream {
 public:
  Repeat(IndexStreamPtr from, std::int64_t count)
      : from_(std::move(from)), count_(count), left_(count) {}

  Index Next() override {
    while (true) {
      Index index = from_->Next();
      if (!index.ok()) return index;
      if (index->has_value()) {
        empty_ = false;
        return index;
      }
      if (empty_ || left_ == 1) return std::nullopt;
      if (left_ > 0) --left_;
      empty_ = true;
      from_->Restart();
    }
  }
  void Restart() override {
    from_->Restart();
    left_ = count_;
    empty_ = true;
  }

 private:
  const IndexStreamPtr from_;
  const std::int64_t count_;
  std::int64_t left_;  // passes, with the present one; -1: no limit
  bool empty_ = true;  // the present pass, so far
};

}  // namespace

IndexStreamPtr CountStream(std::uint32_t examples) { return std::make_unique<Count>(examples); }

IndexStreamPtr ShardStream(IndexStreamPtr from, std::int64_t count, std::int64_t index) {
  return std::make_unique<Shard>(std::move(from), count, index);
}

IndexStreamPtr FilterStream(IndexStreamPtr from, ExampleReader reader, FilterFunction predicate) {
  return std::make_unique<Filter>(std::move(from), std::move(reader), std::move(predicate));
}

IndexStreamPtr ShuffleStream(IndexStreamPtr from, std::uint32_t buffer, std::uint64_t seed) {
  return std::make_unique<Shuffle>(std::move(from), buffer, seed);
}

IndexStreamPtr RepeatStream(IndexStreamPtr from, std::int64_t count) {
  return std::make_unique<Repeat>(std::move(from), count);
}

}  // namespace weir
