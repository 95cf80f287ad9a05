#include "bench/data/process_set.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/data/role_options.h"
#include "common/base/status_macros.h"

namespace weir::bench {
namespace {

// What the slowest machine and link that anybody should wait for would take.
constexpr absl::Duration kMostForOne = absl::Seconds(120);
constexpr double kLeastBytesPerSecond = 20e6;
constexpr double kLeastOperationsPerSecond = 200;

absl::Duration LimitOf(const RoleOptions& role) {
  const auto iters = static_cast<double>(role.iters + role.warm_up);
  const double bytes = iters * static_cast<double>(role.size) * role.tensors * role.workers;
  return kMostForOne +
         absl::Seconds(bytes / kLeastBytesPerSecond +
                       iters * role.tensors * role.workers / kLeastOperationsPerSecond);
}

absl::StatusOr<Child> StartRole(const char* name, const RoleOptions& role) {
  std::vector<std::string> arguments = {"bench", name};
  for (std::string& flag : RoleFlags(role)) arguments.push_back(std::move(flag));
  return Child::Start(std::move(arguments));
}

std::vector<int> InTurn(const std::vector<int>& cpus, int from, int count) {
  std::vector<int> chosen;
  for (int i = from; i < from + count; ++i) {
    chosen.push_back(cpus[static_cast<std::size_t>(i) % cpus.size()]);
  }
  return chosen;
}

}  // namespace

std::vector<int> WorkerCpus(const DataBenchOptions& options) {
  return InTurn(options.cpus, 0, options.workers);
}

std::vector<int> PsCpus(const DataBenchOptions& options) {
  return InTurn(options.cpus, options.workers, options.ps * options.ps_threads);
}

absl::StatusOr<ProcessSet> ProcessSet::Start(const DataBenchOptions& options, std::uint64_t size) {
  const std::uint64_t iters = RoundsOf(options, size).iters;
  RoleOptions role{.size = size,
                   .tensors = options.window,
                   .ps = options.ps,
                   .ps_threads = options.ps_threads,
                   .workers = options.workers,
                   .transport = options.transport,
                   .iters = iters,
                   .warm_up = WarmUpOf(iters),
                   .parent = getpid()};
  ProcessSet set(LimitOf(role));
  const std::vector<int> ps_cpus = PsCpus(options);
  const std::vector<int> worker_cpus = WorkerCpus(options);
  for (role.index = 0; role.index < options.ps; ++role.index) {
    const auto first = ps_cpus.begin() + role.index * options.ps_threads;
    role.cpus.assign(first, first + options.ps_threads);
    WEIR_ASSIGN_OR_RETURN(Child shard, StartRole("shard", role));
    set.shards_.push_back(std::move(shard));
  }
  std::string addresses;
  for (Child& shard : set.shards_) {
    WEIR_ASSIGN_OR_RETURN(const std::string port, shard.AwaitLine(set.limit_));
    absl::StrAppend(&addresses, addresses.empty() ? "" : ",", "127.0.0.1:", port);
  }
  role.shards = addresses;
  for (role.index = 0; role.index < options.workers; ++role.index) {
    role.cpus = {worker_cpus[static_cast<std::size_t>(role.index)]};
    WEIR_ASSIGN_OR_RETURN(Child worker, StartRole("worker", role));
    set.workers_.push_back(std::move(worker));
  }
  for (Child& worker : set.workers_) {
    WEIR_ASSIGN_OR_RETURN(std::string path, worker.AwaitLine(set.limit_));
    if (set.path_.empty()) set.path_ = std::move(path);
  }
  return set;
}

absl::StatusOr<std::string> ProcessSet::PathNow() {
  workers_.front().Tell("path");
  return workers_.front().AwaitLine(limit_);
}

absl::StatusOr<Samples> ProcessSet::Do(const std::string& word) {
  for (Child& worker : workers_) worker.Tell(word);
  Samples all;
  for (Child& worker : workers_) {
    WEIR_ASSIGN_OR_RETURN(const std::string line, worker.AwaitLine(limit_));
    WEIR_ASSIGN_OR_RETURN(Samples samples, Samples::FromJson(line));
    all.wrong += samples.wrong;
    std::ranges::move(samples.nanoseconds, std::back_inserter(all.nanoseconds));
  }
  return all;
}

absl::StatusOr<std::vector<Samples>> ProcessSet::DoControls(std::span<const ControlKind> kinds) {
  const std::string control = absl::StrCat("control ", NameOf(ControlFabricOf(path_)));
  shards_.front().Tell(control);
  WEIR_ASSIGN_OR_RETURN(const std::string ticket, shards_.front().AwaitLine(limit_));
  std::vector<Samples> all;
  for (const ControlKind kind : kinds) {
    workers_.front().Tell(absl::StrCat(control, " ", NameOf(kind), " ", ticket));
    WEIR_ASSIGN_OR_RETURN(const std::string line, workers_.front().AwaitLine(limit_));
    WEIR_ASSIGN_OR_RETURN(all.emplace_back(), Samples::FromJson(line));
  }
  shards_.front().Tell("rest");
  WEIR_RETURN_IF_ERROR(shards_.front().AwaitLine(limit_).status());
  return all;
}

absl::Status ProcessSet::End() {
  for (Child& worker : workers_) WEIR_RETURN_IF_ERROR(worker.Wait(kMostForOne).status());
  for (Child& shard : shards_) WEIR_RETURN_IF_ERROR(shard.Wait(kMostForOne).status());
  return absl::OkStatus();
}

}  // namespace weir::bench
