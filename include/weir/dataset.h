#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/batch_iterator.h"

namespace weir {

/// Changes one example in place: its features and its class label.
using MapFunction = std::function<absl::Status(std::span<float> features, std::int32_t& label)>;
/// True for the examples to keep.
using FilterFunction = std::function<bool(std::span<const float> features, std::int32_t label)>;

/// A description of labelled examples and of what is done to them on their way into batches, with
/// tf.data's meaning. Immutable and thread-safe; copies are cheap and share the data. Each call
/// below gives a new description; nothing runs before CreateIterator. Legal orders:
///   Map, Filter, Shuffle, Shard in any order; Repeat; Map, Shuffle, Repeat; Batch; Prefetch.
/// So Batch is called once, nothing but Prefetch follows it, and Shard and Filter come before
/// Repeat: a filter that nothing passes would otherwise search an endless stream for ever. A
/// mistake is kept: status() and CreateIterator return the first, with exit code 2.
///
/// Examples stay as they are stored (a byte a pixel) until they are batched, and what flows through
/// Shuffle is their number only. Hence the functions given to Map and Filter must be deterministic
/// (the ones before a Filter are called for the Filter and again for the batch), must not throw,
/// and must be thread-safe where a description has more than one iterator at a time.
class Dataset {
 public:
  /// Reads a pair of IDX files: unsigned bytes, three dimensions of images (magic 2051), one of
  /// labels (2049). A file named *.gz must be gzip. feature_shape is [rows, columns], values are
  /// 0..255. Blocks: unpacks the whole file (47 MB: about 0.2 s).
  /// Errors: exit code 3, naming the file, for one that is missing, truncated, not gzip, with
  ///   another magic, a payload that its dimensions do not say, no example, or when the files'
  ///   counts differ.
  static absl::StatusOr<Dataset> FromIdx(const std::string& images_path,
                                         const std::string& labels_path);
  /// Examples from memory; `features` is row-major [labels.size(), feature_shape...].
  /// Errors: exit code 2 for sizes that disagree or no example.
  static absl::StatusOr<Dataset> FromVectors(std::vector<float> features,
                                             std::vector<std::int32_t> labels,
                                             std::vector<std::int64_t> feature_shape);

  /// Passes every example through `fn`, in place, as MapFunction or with no result. An error of
  /// `fn` ends the iterator and is handed to whoever calls Next.
  Dataset Map(MapFunction fn) const;
  /// The same, for an `fn` that returns nothing and cannot fail.
  template <typename F>
  requires std::same_as<std::invoke_result_t<F&, std::span<float>, std::int32_t&>, void> Dataset
  Map(F fn) const {
    return Map(MapFunction([fn = std::move(fn)](std::span<float> features, std::int32_t& label) {
      fn(features, label);
      return absl::OkStatus();
    }));
  }
  /// Keeps the examples that `predicate` is true for.
  Dataset Filter(FilterFunction predicate) const;
  /// Draws each example uniformly from a buffer of the next `buffer` ones: at least size() for a
  /// uniform permutation. Each pass of a later Repeat has another order. The orders depend on
  /// `seed` alone, on every platform.
  Dataset Shuffle(std::int64_t buffer, std::uint64_t seed) const;
  /// Goes through the examples `count` times; -1 is endless. Without any example it ends at once.
  Dataset Repeat(std::int64_t count = -1) const;
  /// Every `count`-th example, beginning with number `index`: one share of `count`.
  Dataset Shard(std::int64_t count, std::int64_t index) const;
  /// Runs of `size` examples; the last is smaller where they do not divide, or with
  /// `drop_remainder` left out. Errors: a size beyond that of one pass (see size()).
  Dataset Batch(std::int64_t size, bool drop_remainder = false) const;
  /// Prepares up to `batches` batches ahead, on a thread of the iterator's own.
  Dataset Prefetch(std::int64_t batches) const;

  /// Starts to read. The iterator keeps the data alive. Destroying one that prefetches stops its
  /// thread: waits for at most the batch that is being made.
  /// Errors: status(); exit code 2 without Batch.
  absl::StatusOr<std::unique_ptr<BatchIterator>> CreateIterator() const;

  /// The first mistake in the order or the arguments of the calls above.
  const absl::Status& status() const;
  /// Examples in one pass, before Repeat; nullopt where a Filter makes that unknown.
  std::optional<std::int64_t> size() const;
  /// Of one example.
  const std::vector<std::int64_t>& feature_shape() const;

 private:
  struct Plan;
  explicit Dataset(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  static Dataset FromPlan(Plan plan);
  std::shared_ptr<const Plan> plan_;
};

}  // namespace weir
