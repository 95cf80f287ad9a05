#include "bench/data/worker_process.h"

#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/common/pattern.h"
#include "bench/common/samples.h"
#include "bench/data/control.h"
#include "common/base/clock.h"
#include "common/base/ids.h"
#include "common/base/status_macros.h"
#include "common/net/ucx/version.h"
#include "common/rpc/client.h"
#include "worker/client/data_client.h"

namespace weir::bench {
namespace {

constexpr absl::Duration kConnectLimit = absl::Seconds(30);
// No push here is of a step that somebody counts.
constexpr Step kAnyStep{1};

class ShardCaller {
 public:
  ShardCaller(const Layout& layout, const std::string& addresses) : layout_(layout) {
    for (const std::string& address : std::vector<std::string>(absl::StrSplit(addresses, ','))) {
      servers_.push_back(rpc::ShardClient::Create(
          {.address = address, .peer = absl::StrCat("ps ", servers_.size())}));
    }
  }
  absl::StatusOr<wire::ConnectReplyT> operator()(ShardIndex shard,
                                                 const wire::ConnectRequestT& request) const {
    wire::ConnectRequestT addressed = request;
    addressed.thread = static_cast<std::uint32_t>(layout_.thread_of(shard));
    const auto server = static_cast<std::size_t>(layout_.server_of(shard));
    return servers_[server]->Connect(addressed, absl::Seconds(5));
  }

 private:
  const Layout& layout_;
  std::vector<std::shared_ptr<rpc::ShardClient>> servers_;
};

absl::StatusOr<std::unique_ptr<DataClient>> Connect(const RoleOptions& role, const Layout& layout) {
  const RoleSetup setup = SetupOf(role);
  DataClientOptions options;
  options.worker = WorkerIndex(static_cast<std::uint16_t>(role.index));
  options.incarnation = Incarnation(IncarnationOf(role.index));
  options.view = ViewNumber(kView);
  options.host_id = HostId();
  options.transport_kind = TransportKind(setup);
  options.ucx_version = net::UcxVersion();
  options.mapping = MappingOf(setup);
  options.one_sided_reads = OneSidedReadsOf(setup);
  options.connect_deadline = kConnectLimit;
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<net::Transport> transport, CreateTransport(setup));
  return DataClient::Connect(layout, options, std::move(transport),
                             ShardCaller(layout, role.shards));
}

class Worker {
 public:
  Worker(const RoleOptions& options, std::unique_ptr<DataClient> client)
      : options_(options), client_(std::move(client)) {}

  /// A first pull, too: it tells the path, and touches the memory.
  absl::StatusOr<std::string> Prepare() {
    WEIR_ASSIGN_OR_RETURN(weights_, client_->AllocateParameters());
    WEIR_ASSIGN_OR_RETURN(gradients_, client_->AllocateParameters());
    WEIR_RETURN_IF_ERROR(client_->Pull(*weights_));
    return path();
  }
  std::string path() const { return client_->paths().front().second; }

  /// As worker_process.h says.
  absl::StatusOr<Samples> Do(const std::string& line) {
    if (line == "push") return Push();
    if (line == "check") return Check();
    if (line == "pull") return Pull();
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words[0] == "control" && words.size() == 4) return Control(words[1], words[2], words[3]);
    return absl::InvalidArgumentError(absl::StrCat("told to '", line, "'"));
  }

 private:
  absl::StatusOr<Samples> Push() {
    return Repeat([this]() -> absl::StatusOr<absl::Duration> {
      for (std::size_t t = 0; t < gradients_->tensors(); ++t) {
        FillGradient(pushes_, options_.index, t, gradients_->tensor(t));
      }
      const absl::Time start = MonotonicNow();
      WEIR_RETURN_IF_ERROR(client_->Push(*gradients_, kAnyStep));
      const absl::Time end = MonotonicNow();
      ++pushes_;
      return end - start;
    });
  }

  absl::StatusOr<Samples> Check() {
    Samples samples;
    WEIR_RETURN_IF_ERROR(PullOnce(samples).status());
    return samples;
  }

  absl::StatusOr<Samples> Pull() {
    std::uint64_t wrong = 0;
    WEIR_ASSIGN_OR_RETURN(Samples samples, Repeat([&]() -> absl::StatusOr<absl::Duration> {
                            Samples one;
                            const auto time = PullOnce(one);
                            wrong += one.wrong;
                            return time;
                          }));
    samples.wrong = wrong;
    return samples;
  }

  absl::StatusOr<Samples> Control(const std::string& fabric, const std::string& kind,
                                  const std::string& ticket) const {
    ControlRun run{.size = options_.size,
                   .window = options_.tensors,
                   .iters = options_.iters,
                   .warm_up = options_.warm_up};
    WEIR_ASSIGN_OR_RETURN(run.fabric, FabricOf(fabric));
    WEIR_ASSIGN_OR_RETURN(run.kind, ControlKindOf(kind));
    return RunControl(run, ticket);
  }

  absl::StatusOr<absl::Duration> PullOnce(Samples& samples) {
    for (std::size_t t = 0; t < weights_->tensors(); ++t) Poison(weights_->tensor(t));
    const absl::Time start = MonotonicNow();
    WEIR_RETURN_IF_ERROR(client_->Pull(*weights_));
    const absl::Time end = MonotonicNow();
    for (std::size_t t = 0; t < weights_->tensors(); ++t) {
      samples.wrong += CountWrong(pushes_, options_.workers, t, weights_->tensor(t));
    }
    return end - start;
  }

  template <typename Operation>
  absl::StatusOr<Samples> Repeat(Operation operation) {
    Samples samples;
    samples.nanoseconds.reserve(options_.iters);
    for (std::uint64_t i = 0; i < options_.warm_up + options_.iters; ++i) {
      WEIR_ASSIGN_OR_RETURN(const absl::Duration time, operation());
      if (i >= options_.warm_up) samples.Add(time);
    }
    return samples;
  }

  const RoleOptions& options_;
  std::unique_ptr<DataClient> client_;
  std::optional<ParameterBuffer> weights_;
  std::optional<ParameterBuffer> gradients_;
  std::uint64_t pushes_ = 0;  // of this worker so far; of each of the others too, once all are done
};

void Answer(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace

absl::Status RunWorkerProcess(const RoleOptions& options) {
  WEIR_RETURN_IF_ERROR(SettleIn(options));
  WEIR_ASSIGN_OR_RETURN(const Layout layout, LayoutOf(options));
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<DataClient> client, Connect(options, layout));
  Worker worker(options, std::move(client));
  WEIR_ASSIGN_OR_RETURN(const std::string path, worker.Prepare());
  Answer(path);
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == "path") {
      Answer(worker.path());
      continue;
    }
    WEIR_ASSIGN_OR_RETURN(const Samples samples, worker.Do(line));
    Answer(samples.ToJson());
  }
  return absl::OkStatus();
}

}  // namespace weir::bench
