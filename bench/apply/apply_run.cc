#include "bench/apply/apply_run.h"

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/apply/triad.h"
#include "bench/common/pattern.h"
#include "common/base/clock.h"
#include "common/base/cpu.h"
#include "common/base/status_macros.h"
#include "common/model/layout.h"
#include "ps_server/optimizers/sgd.h"

namespace weir::bench {
namespace {

constexpr std::uint64_t kRounds = 5;
constexpr std::uint64_t kWarmUp = 3;  // of each loop, before the first round

struct Free {
  void operator()(float* values) const { std::free(values); }
};

/// The arrays of one thread, page-aligned; null where there was no memory.
struct Arrays {
  explicit Arrays(std::size_t count) : elements(count) {
    for (auto* array : {&weights, &gradient, &other}) {
      const std::size_t bytes = (count * sizeof(float) + 4095) / 4096 * 4096;
      array->reset(static_cast<float*>(std::aligned_alloc(4096, bytes)));
    }
  }
  bool whole() const { return weights && gradient && other; }
  std::span<float> of(const std::unique_ptr<float, Free>& array) const {
    return {array.get(), elements};
  }
  std::size_t elements;
  std::unique_ptr<float, Free> weights, gradient, other;
};

void Apply(const Arrays& arrays) {
  constexpr std::size_t kBlock = kMaxBlockElements;
  const std::span<float> weights = arrays.of(arrays.weights);
  const std::span<const float> gradient = arrays.of(arrays.gradient);
  for (std::size_t done = 0; done < weights.size(); done += kBlock) {
    const std::size_t count = std::min(kBlock, weights.size() - done);
    const std::span<float> block = weights.subspan(done, count);
    ps::ApplySgd(block, block, std::as_bytes(gradient.subspan(done, count)), 1.0F);
  }
}

void TriadOver(const Arrays& arrays) {
  Triad(arrays.of(arrays.weights), arrays.of(arrays.gradient), 0.5F, arrays.of(arrays.other));
}

void Repeat(std::uint64_t times, void (*loop)(const Arrays&), const Arrays& arrays,
            std::vector<std::uint64_t>* nanoseconds) {
  for (std::uint64_t i = 0; i < times; ++i) {
    const absl::Time start = MonotonicNow();
    loop(arrays);
    const absl::Duration time = MonotonicNow() - start;
    if (nanoseconds != nullptr)
      nanoseconds->push_back(static_cast<std::uint64_t>(absl::ToInt64Nanoseconds(time)));
  }
}

/// What each thread does, pinned, with arrays that are all there.
void TimeThread(const ApplyRun& run, const Arrays& arrays, std::barrier<>& together,
                ApplyTimes& times) {
  std::ranges::fill(arrays.of(arrays.weights), 0.0F);
  std::ranges::fill(arrays.of(arrays.other), 0.0F);
  FillGradient(0, 0, 0, arrays.of(arrays.gradient));
  times.sgd.reserve(run.iters);
  times.triad.reserve(run.iters);
  Repeat(kWarmUp, Apply, arrays, nullptr);
  Repeat(kWarmUp, TriadOver, arrays, nullptr);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t count = run.iters * (round + 1) / kRounds - run.iters * round / kRounds;
    together.arrive_and_wait();
    Repeat(count, Apply, arrays, &times.sgd);
    together.arrive_and_wait();
    Repeat(count, TriadOver, arrays, &times.triad);
  }
  const auto applied = static_cast<float>(kWarmUp + run.iters);
  const std::span<const float> weights = arrays.of(arrays.weights);
  const std::span<const float> gradient = arrays.of(arrays.gradient);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    times.wrong += weights[i] != -applied * gradient[i];
  }
}

}  // namespace

absl::StatusOr<std::vector<ApplyTimes>> TimeApply(const ApplyRun& run) {
  const std::size_t threads = run.cpus.size();
  std::vector<ApplyTimes> times(threads);
  std::vector<absl::Status> ends(threads);
  std::barrier together(static_cast<std::ptrdiff_t>(threads));
  {
    std::vector<std::jthread> running;
    for (std::size_t t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        ends[t] = PinToCpu(run.cpus[t]);
        const Arrays arrays(run.size / sizeof(float));
        if (ends[t].ok() && !arrays.whole()) {
          ends[t] = absl::ResourceExhaustedError(
              absl::StrCat("there is no memory for three arrays of ", run.size, " bytes"));
        }
        // Who cannot take part must not keep the others waiting.
        if (!ends[t].ok()) return together.arrive_and_drop();
        TimeThread(run, arrays, together, times[t]);
      });
    }
  }
  for (const absl::Status& end : ends) WEIR_RETURN_IF_ERROR(end);
  return times;
}

}  // namespace weir::bench
