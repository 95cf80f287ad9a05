#include "bench/cluster/cluster_bench.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/common/context.h"
#include "bench/common/output_file.h"
#include "bench/common/pattern.h"
#include "bench/common/samples.h"
#include "bench/data/row.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/config/environment.h"
#include "jobs/job_file.h"
#include "runtime/client_setup.h"
#include "weir/client.h"
#include "weir/exit_code.h"

namespace weir::bench {
namespace {

// Sums of gradients up to 6 stay whole numbers that float32 has.
constexpr std::uint64_t kMostPushes = 2'000'000;

absl::Status Unfit(const std::string& what) {
  return WithExitCode(absl::FailedPreconditionError(what), ExitCode::kBadUsage);
}

std::size_t WarmUpOf(std::size_t iters) { return std::max<std::size_t>(10, iters / 10); }

/// What is measured, for people and in the report.
struct Target {
  std::string job;
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;
  int ps = 0;
};

std::string Heading(const Target& target) {
  return absl::StrCat("# weir bench cluster 1 | ", ContextText(), "\n# ", target.ps, " ps | ",
                      target.job, ": ", target.tensors,
                      " tensors, all in each push and pull | warm-up a tenth, at least 10\n",
                      ColumnsLine(/*ratios=*/false));
}

std::string ReportJson(const Target& target, std::span<const DataRow> rows) {
  nlohmann::ordered_json json = ReportOf("cluster");
  json.update({{"job", target.job}, {"tensors", target.tensors}, {"ps", target.ps}});
  return WithRows(std::move(json), rows);
}

/// The one worker of the job: pushes and pulls, each timed alone and each value checked.
class SoleWorker {
 public:
  static absl::StatusOr<SoleWorker> Create(Client& client) {
    WEIR_ASSIGN_OR_RETURN(Parameters weights, client.AllocateParameters());
    WEIR_ASSIGN_OR_RETURN(Parameters gradients, client.AllocateParameters());
    return SoleWorker(client, std::move(weights), std::move(gradients));
  }

  /// One a step, until the job has no more. The weights that come with a step are checked.
  absl::StatusOr<Samples> Push() {
    Samples samples;
    while (true) {
      Poison();
      WEIR_ASSIGN_OR_RETURN(const auto step, client_.NextStep(weights_));
      if (!step) break;
      const std::uint64_t wrong = CountWrong();
      WEIR_RETURN_IF_ERROR(CheckFit(wrong));
      samples.wrong += wrong;
      for (std::size_t t = 0; t < gradients_.size(); ++t) {
        FillGradient(pushes_, /*worker=*/0, t, gradients_[t]);
      }
      const absl::Time start = MonotonicNow();
      WEIR_RETURN_IF_ERROR(client_.Push(gradients_));
      samples.Add(MonotonicNow() - start);
      ++pushes_;
    }
    if (pushes_ <= WarmUpOf(pushes_)) {
      return Unfit(absl::StrCat("the job had ", pushes_, " steps, and the first ",
                                WarmUpOf(pushes_), " are warm-up; give it more max_steps"));
    }
    return samples;
  }

  /// As many as there were pushes.
  absl::StatusOr<Samples> Pull() {
    Samples samples;
    for (std::uint64_t i = 0; i < pushes_; ++i) {
      Poison();
      const absl::Time start = MonotonicNow();
      WEIR_RETURN_IF_ERROR(client_.Pull(weights_));
      samples.Add(MonotonicNow() - start);
      samples.wrong += CountWrong();
    }
    return samples;
  }

 private:
  SoleWorker(Client& client, Parameters weights, Parameters gradients)
      : client_(client), weights_(std::move(weights)), gradients_(std::move(gradients)) {}

  void Poison() {
    for (std::size_t t = 0; t < weights_.size(); ++t) bench::Poison(weights_[t]);
  }

  std::uint64_t CountWrong() {
    std::uint64_t wrong = 0;
    for (std::size_t t = 0; t < weights_.size(); ++t) {
      wrong += bench::CountWrong(pushes_, /*workers=*/1, t, weights_[t]);
    }
    return wrong;
  }

  /// Values that are wrong from the start are of another job than can be checked.
  absl::Status CheckFit(std::uint64_t wrong) const {
    if (pushes_ == 0 && wrong > 0) {
      return Unfit(absl::StrCat(wrong,
                                " weights are not 0 at the job's start; let its tensors start as "
                                "\"zeros\", in a model directory without checkpoints"));
    }
    if (pushes_ == 1 && wrong > 0) {
      return Unfit(absl::StrCat(
          "after one push ", wrong,
          " weights are not minus its gradient; start chief and ps with --learning-rate 1"));
    }
    if (pushes_ == kMostPushes) {
      return Unfit(absl::StrCat("the job has more than ", kMostPushes,
                                " steps, whose sums float32 cannot hold; give it fewer max_steps"));
    }
    return absl::OkStatus();
  }

  Client& client_;
  Parameters weights_;
  Parameters gradients_;
  std::uint64_t pushes_ = 0;
};

DataRow TimedRow(std::string op, const Target& target, Samples samples) {
  auto& times = samples.nanoseconds;
  times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(WarmUpOf(times.size())));
  return RowOf(std::move(op), target.bytes, /*window=*/1, /*workers=*/1, std::span(&samples, 1));
}

absl::StatusOr<std::array<DataRow, 2>> Measure(Client& client, const Target& target) {
  WEIR_ASSIGN_OR_RETURN(SoleWorker worker, SoleWorker::Create(client));
  WEIR_ASSIGN_OR_RETURN(Samples pushes, worker.Push());
  WEIR_ASSIGN_OR_RETURN(Samples pulls, worker.Pull());
  return std::array{TimedRow("push", target, std::move(pushes)),
                    TimedRow("pull", target, std::move(pulls))};
}

absl::StatusOr<Target> TargetOf(const ClientConfig& config) {
  WEIR_ASSIGN_OR_RETURN(const RoleSetup setup, SetupOfClient(config, ProcessEnvironment()));
  if (setup.cluster.worker_count() != 1) {
    return Unfit(absl::StrCat("the cluster in TF_CONFIG lists ", setup.cluster.worker_count(),
                              " workers; values can be checked with one alone: this process"));
  }
  Target target{
      .job = config.job, .tensors = config.tensors.size(), .ps = setup.cluster.ps_count()};
  for (const TensorSpec& tensor : config.tensors) {
    target.bytes += static_cast<std::uint64_t>(tensor.elements()) * sizeof(float);
  }
  return target;
}

}  // namespace

absl::StatusOr<int> RunClusterBench(const ClusterBenchOptions& options) {
  WEIR_RETURN_IF_ERROR(ProbeOutput("--json", options.json));
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<Job> job, ReadJobFile(options.job));
  ClientConfig config = options.client;
  config.job = job->name();
  config.tensors = job->tensors();
  WEIR_ASSIGN_OR_RETURN(const Target target, TargetOf(config));
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(config));
  WEIR_ASSIGN_OR_RETURN(const auto rows, Measure(*client, target));
  std::fputs(Heading(target).c_str(), stdout);
  for (const DataRow& row : rows) std::fputs(RowLine(row).c_str(), stdout);
  std::fputs(ResultLine(rows).c_str(), stdout);
  WEIR_RETURN_IF_ERROR(WriteOutput(options.json, ReportJson(target, rows)));
  WEIR_RETURN_IF_ERROR(client->Finish());
  return static_cast<int>(VerdictOn(rows));
}

}  // namespace weir::bench
