// The tutorial's CNN at batch 256 on one thread: a whole TrainStep, beside oneDNN's bare primitives
// for its convolution, pooling and matrix products, forward and backward, measured in the same run.
//
// Each primitive stands for the fastest of all its layouts and implementations, whether or not they
// fit together: no ReLU, no change of layout, no loss. The ratio of the step to their sum is
// printed below the table; with --max-ratio=R the exit code is 1 if it is above R. Times are
// medians of the thread's processor time over interleaved repetitions, so that other processes
// disturb them little.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bare_primitives.h"
#include "common/model/initializer.h"
#include "weir/nn/sequential.h"
#include "worker/nn/threads.h"

namespace weir::nn {
namespace {

constexpr int kBatch = 256;

Sequential TutorialNet() {
  Sequential net({28, 28, 1});
  net.Add(Conv2D{.filters = 32, .kernel = 3, .activation = Activation::kRelu});
  net.Add(MaxPool2D{.pool = 2});
  net.Add(Flatten{});
  net.Add(Dense{.units = 64, .activation = Activation::kRelu});
  net.Add(Dense{.units = 10});
  return net;
}

struct TrainingData {
  TrainingData() {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(0, 1);
    for (float& f : features) f = uniform(random);
    for (std::int32_t& label : labels) label = static_cast<std::int32_t>(random() % 10);
    for (const TensorSpec& tensor : net.tensors()) {
      weights.emplace_back(static_cast<std::size_t>(tensor.elements()));
      InitializeTensor(tensor, 1, 0, weights.back());
      gradients.emplace_back(weights.back().size());
    }
    weight_views.assign(weights.begin(), weights.end());
    gradient_views.assign(gradients.begin(), gradients.end());
  }
  Batch batch() const { return {kBatch, features, labels}; }

  Sequential net = TutorialNet();
  std::vector<std::vector<float>> weights, gradients;
  std::vector<std::span<const float>> weight_views;
  std::vector<std::span<float>> gradient_views;
  std::vector<float> features = std::vector<float>(kBatch * 28 * 28);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(kBatch);
};

void TrainStep(benchmark::State& state) {
  TrainingData data;
  auto model = data.net.Compile(kBatch);
  if (!model.ok()) return state.SkipWithError(model.status().ToString().c_str());
  for (auto _ : state) {
    const auto loss = (*model)->TrainStep(data.batch(), data.weight_views, data.gradient_views);
    if (!loss.ok()) return state.SkipWithError(loss.status().ToString().c_str());
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

void Evaluate(benchmark::State& state) {
  TrainingData data;
  auto model = data.net.Compile(kBatch);
  if (!model.ok()) return state.SkipWithError(model.status().ToString().c_str());
  for (auto _ : state) {
    if (!(*model)->Evaluate(data.batch(), data.weight_views).ok()) {
      return state.SkipWithError("Evaluate failed");
    }
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

void Bare(benchmark::State& state, const BarePrimitives::Candidate& candidate) {
  const ScopedThreads scope(1);
  for (auto _ : state) candidate.run();
}

std::string NameOf(const BarePrimitives::Candidate& candidate) {
  return "bare/" + candidate.operation + "/" + candidate.implementation;
}

// Keeps the times; the table comes when all repetitions are done.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override {
    PrintBasicContext(&std::cerr, context);
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) std::cerr << run.error_message << "\n";
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      times_[run.run_name.function_name].push_back(run.GetAdjustedCPUTime());
    }
  }

  // Milliseconds; infinite if it was not measured.
  double Median(const std::string& name) const {
    const auto found = times_.find(name);
    if (found == times_.end()) return std::numeric_limits<double>::infinity();
    std::vector<double> times = found->second;
    std::ranges::sort(times);
    return times[times.size() / 2];
  }

  void PrintTable() const {
    std::printf("# %-56s %9s %9s %9s  %s\n", "op", "median_ms", "least_ms", "most_ms",
                "repetitions");
    for (const auto& [name, times] : times_) {
      const auto [least, most] = std::ranges::minmax(times);
      std::printf("  %-56s %9.3f %9.3f %9.3f  %zu\n", name.c_str(), Median(name), least, most,
                  times.size());
    }
  }

 private:
  std::map<std::string, std::vector<double>> times_;
};

// The sum over operations of the fastest candidate; prints which that is.
double FastestSum(const BarePrimitives& bare, const Collector& times, bool onednn_only) {
  std::map<std::string, std::pair<double, std::string>> fastest;
  for (const auto& candidate : bare.all()) {
    if (onednn_only && !candidate.is_onednn) continue;
    const double time = times.Median(NameOf(candidate));
    auto& best = fastest.try_emplace(candidate.operation, std::pair{time, ""}).first->second;
    if (time <= best.first) best = {time, candidate.implementation};
  }
  double sum = 0;
  for (const auto& [operation, best] : fastest) {
    std::printf("#   %-30s %9.3f ms  %s\n", operation.c_str(), best.first, best.second.c_str());
    sum += best.first;
  }
  return sum;
}

double PrintRatios(const BarePrimitives& bare, const Collector& times) {
  times.PrintTable();
  const double step = times.Median("TrainStep");
  std::printf("# oneDNN's fastest primitives\n");
  const double onednn = FastestSum(bare, times, /*onednn_only=*/true);
  std::printf("# the faster of oneDNN's and weir's\n");
  const double either = FastestSum(bare, times, /*onednn_only=*/false);
  std::printf("# step %.2f ms, oneDNN's primitives %.2f ms, with weir's kernels %.2f ms\n", step,
              onednn, either);
  std::printf("# ratio %.3f (to the sum with weir's kernels %.3f)\n", step / onednn, step / either);
  return step / onednn;
}

// Takes `--max-ratio=R` out of the arguments.
double TakeMaxRatio(int& argc, char** argv) {
  constexpr std::string_view kFlag = "--max-ratio=";
  double max_ratio = std::numeric_limits<double>::infinity();
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with(kFlag)) {
      max_ratio = std::atof(argv[i] + kFlag.size());
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return max_ratio;
}

}  // namespace
}  // namespace weir::nn

int main(int argc, char** argv) {
  using namespace weir::nn;  // NOLINT(google-build-using-namespace)
  const double max_ratio = TakeMaxRatio(argc, argv);
  char name[] = "nn_bench";
  char interleave[] = "--benchmark_enable_random_interleaving=true";
  char repetitions[] = "--benchmark_repetitions=7";
  char min_time[] = "--benchmark_min_time=0.05";
  std::vector<char*> arguments = {name, interleave, repetitions, min_time};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  auto count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;

  const ScopedThreads scope(1);
  const BarePrimitives bare;
  const auto ms = benchmark::kMillisecond;
  benchmark::RegisterBenchmark("TrainStep", TrainStep)->Unit(ms);
  benchmark::RegisterBenchmark("Evaluate", Evaluate)->Unit(ms);
  for (const auto& candidate : bare.all()) {
    benchmark::RegisterBenchmark(NameOf(candidate).c_str(), [&](auto& state) {
      Bare(state, candidate);
    })->Unit(ms);
  }
  Collector times;
  benchmark::RunSpecifiedBenchmarks(&times);
  return PrintRatios(bare, times) <= max_ratio ? 0 : 1;
}
