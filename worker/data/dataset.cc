#include "weir/dataset.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "weir/exit_code.h"
#include "worker/data/example_reader.h"
#include "worker/data/example_store.h"
#include "worker/data/idx_file.h"
#include "worker/data/index_stream.h"
#include "worker/data/iterators.h"

namespace weir {
namespace {

constexpr std::int64_t kLargestShuffle = std::int64_t{1} << 28;  // 1 GiB of numbers
constexpr std::int64_t kLargestPrefetch = 1024;

absl::Status Misuse(const std::string& what) {
  return WithExitCode(absl::InvalidArgumentError(absl::StrCat("data set: ", what)),
                      ExitCode::kBadUsage);
}

using Stage = std::function<IndexStreamPtr(IndexStreamPtr from)>;

}  // namespace

struct Dataset::Plan {
  std::shared_ptr<const ExampleStore> store;
  std::vector<std::int64_t> feature_shape;
  std::vector<MapFunction> maps;
  std::vector<Stage> stages;  ///< in the order of the calls
  /// The most that one pass, before Repeat, can have; exact unless filtered.
  std::int64_t pass_examples = 0;
  bool filtered = false;
  std::string share;  ///< " (shard 1 of 2)", for errors
  bool repeated = false;
  std::int64_t batch_size = 0;  ///< 0: no Batch yet
  bool drop_remainder = false;
  std::int64_t prefetch = 0;
  absl::Status status;

  void Fail(const std::string& what) {
    if (status.ok()) status = Misuse(what);
  }
  /// Records a mistake where `call` works on examples but Batch is already behind.
  void NeedExamples(const char* call) {
    if (batch_size > 0) Fail(absl::StrCat(call, " must come before Batch"));
  }
  void NeedOnePass(const char* call) {
    if (repeated) Fail(absl::StrCat(call, " must come before Repeat"));
  }
};

Dataset Dataset::FromPlan(Plan plan) {
  return Dataset(std::make_shared<const Plan>(std::move(plan)));
}

absl::StatusOr<Dataset> Dataset::FromIdx(const std::string& images_path,
                                         const std::string& labels_path) {
  WEIR_ASSIGN_OR_RETURN(IdxImages images, ReadIdxImages(images_path));
  WEIR_ASSIGN_OR_RETURN(ByteBuffer labels, ReadIdxLabels(labels_path));
  if (images.count != labels.size()) {
    return WithExitCode(
        absl::DataLossError(absl::StrCat("data files do not belong together: ", images_path,
                                         " has ", images.count, " images, ", labels_path, " has ",
                                         labels.size(), " labels")),
        ExitCode::kBadData);
  }
  Plan plan;
  plan.feature_shape = {images.rows, images.columns};
  plan.pass_examples = images.count;
  plan.store = std::make_shared<ByteExamples>(std::move(images.pixels), std::move(labels));
  return FromPlan(std::move(plan));
}

absl::StatusOr<Dataset> Dataset::FromVectors(std::vector<float> features,
                                             std::vector<std::int32_t> labels,
                                             std::vector<std::int64_t> feature_shape) {
  if (labels.empty()) return Misuse("no examples");
  if (labels.size() >= std::numeric_limits<std::uint32_t>::max()) {
    return Misuse(absl::StrCat(labels.size(), " examples are more than 2^32 - 2"));
  }
  std::int64_t expected = static_cast<std::int64_t>(labels.size());
  for (const std::int64_t dimension : feature_shape) {
    if (dimension < 1 || __builtin_mul_overflow(expected, dimension, &expected)) {
      return Misuse(
          absl::StrCat("impossible shape of an example: ", absl::StrJoin(feature_shape, " x ")));
    }
  }
  if (features.size() != static_cast<std::size_t>(expected)) {
    return Misuse(absl::StrCat(features.size(), " feature values, expected ", expected, " for ",
                               labels.size(), " labels and examples of [",
                               absl::StrJoin(feature_shape, ", "), "]"));
  }
  Plan plan;
  plan.feature_shape = std::move(feature_shape);
  plan.pass_examples = static_cast<std::int64_t>(labels.size());
  plan.store = std::make_shared<FloatExamples>(std::move(features), std::move(labels));
  return FromPlan(std::move(plan));
}

Dataset Dataset::Map(MapFunction fn) const {
  Plan plan = *plan_;
  plan.NeedExamples("Map");
  if (fn == nullptr) plan.Fail("Map without a function");
  plan.maps.push_back(std::move(fn));
  return FromPlan(std::move(plan));
}

Dataset Dataset::Filter(FilterFunction predicate) const {
  Plan plan = *plan_;
  plan.NeedExamples("Filter");
  plan.NeedOnePass("Filter");
  if (predicate == nullptr) plan.Fail("Filter without a function");
  plan.filtered = true;
  ExampleReader reader(plan.store, plan.maps);
  plan.stages.push_back(
      [reader = std::move(reader), predicate = std::move(predicate)](IndexStreamPtr from) {
        return FilterStream(std::move(from), reader, predicate);
      });
  return FromPlan(std::move(plan));
}

Dataset Dataset::Shuffle(std::int64_t buffer, std::uint64_t seed) const {
  Plan plan = *plan_;
  plan.NeedExamples("Shuffle");
  if (buffer < 1 || buffer > kLargestShuffle) {
    plan.Fail(absl::StrCat("Shuffle with a buffer of ", buffer, " examples, expected 1 to ",
                           kLargestShuffle));
    return FromPlan(std::move(plan));
  }
  // A buffer beyond the pass only holds more where several passes run through it.
  if (!plan.repeated) buffer = std::clamp<std::int64_t>(plan.pass_examples, 1, buffer);
  plan.stages.push_back([buffer, seed](IndexStreamPtr from) {
    return ShuffleStream(std::move(from), static_cast<std::uint32_t>(buffer), seed);
  });
  return FromPlan(std::move(plan));
}

Dataset Dataset::Repeat(std::int64_t count) const {
  Plan plan = *plan_;
  plan.NeedExamples("Repeat");
  if (count != -1 && count < 1) {
    plan.Fail(absl::StrCat("Repeat(", count, "), expected a count of at least 1, or -1: endless"));
  }
  plan.repeated = true;
  plan.stages.push_back(
      [count](IndexStreamPtr from) { return RepeatStream(std::move(from), count); });
  return FromPlan(std::move(plan));
}

Dataset Dataset::Shard(std::int64_t count, std::int64_t index) const {
  Plan plan = *plan_;
  plan.NeedExamples("Shard");
  plan.NeedOnePass("Shard");
  if (count < 1 || index < 0 || index >= count) {
    plan.Fail(absl::StrCat("Shard ", index, " of ", count, ", expected 0 <= index < count"));
    return FromPlan(std::move(plan));
  }
  plan.pass_examples = plan.pass_examples / count + (index < plan.pass_examples % count ? 1 : 0);
  plan.share = absl::StrCat(" (shard ", index, " of ", count, ")");
  plan.stages.push_back(
      [count, index](IndexStreamPtr from) { return ShardStream(std::move(from), count, index); });
  return FromPlan(std::move(plan));
}

Dataset Dataset::Batch(std::int64_t size, bool drop_remainder) const {
  Plan plan = *plan_;
  plan.NeedExamples("a second Batch");
  if (size < 1) {
    plan.Fail(absl::StrCat("batch size ", size, ", expected at least 1"));
  } else if (size > plan.pass_examples) {
    plan.Fail(absl::StrCat("batch size ", size, " is larger than the data set", plan.share,
                           ", which has ", plan.filtered ? "at most " : "", plan.pass_examples,
                           " examples"));
  } else if (size > std::numeric_limits<int>::max()) {
    plan.Fail(absl::StrCat("batch size ", size, " is beyond ", std::numeric_limits<int>::max()));
  }
  plan.batch_size = std::max<std::int64_t>(size, 1);
  plan.drop_remainder = drop_remainder;
  return FromPlan(std::move(plan));
}

Dataset Dataset::Prefetch(std::int64_t batches) const {
  Plan plan = *plan_;
  if (plan.batch_size == 0) plan.Fail("Prefetch must come after Batch");
  if (plan.prefetch != 0) plan.Fail("Prefetch is called twice");
  if (batches < 1 || batches > kLargestPrefetch) {
    plan.Fail(absl::StrCat("Prefetch(", batches, "), expected 1 to ", kLargestPrefetch));
  }
  plan.prefetch = batches;
  return FromPlan(std::move(plan));
}

absl::StatusOr<std::unique_ptr<BatchIterator>> Dataset::CreateIterator() const {
  if (!plan_->status.ok()) return plan_->status;
  if (plan_->batch_size == 0) return Misuse("CreateIterator without Batch; call Batch(size) last");
  IndexStreamPtr indices = CountStream(plan_->store->examples());
  for (const Stage& stage : plan_->stages) indices = stage(std::move(indices));
  Batcher batcher(std::move(indices), ExampleReader(plan_->store, plan_->maps),
                  static_cast<std::size_t>(plan_->batch_size), plan_->drop_remainder);
  if (plan_->prefetch == 0) return DirectIterator(std::move(batcher));
  return PrefetchIterator(std::move(batcher), static_cast<std::size_t>(plan_->prefetch));
}

const absl::Status& Dataset::status() const { return plan_->status; }

std::optional<std::int64_t> Dataset::size() const {
  if (plan_->filtered) return std::nullopt;
  return plan_->pass_examples;
}

const std::vector<std::int64_t>& Dataset::feature_shape() const { return plan_->feature_shape; }

}  // namespace weir
