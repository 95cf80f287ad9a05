#include "bench/data/shard_process.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/data/control.h"
#include "common/base/ids.h"
#include "common/base/status_macros.h"
#include "common/net/ucx/version.h"
#include "common/rpc/server.h"
#include "ps_server/threaded_server.h"
#include "schemas/chief_generated.h"

namespace weir::bench {
namespace {

constexpr std::uint64_t kNoEnd = std::uint64_t{1} << 62U;

class ShardService final : public rpc::ShardHandler {
 public:
  explicit ShardService(ps::Server& server) : server_(server) {}
  absl::StatusOr<wire::ConnectReplyT> Connect(const wire::ConnectRequestT& request) override {
    return server_.Connect(request);
  }

 private:
  ps::Server& server_;
};

wire::ViewT WholeView(int workers) {
  wire::ViewT view;
  view.number = kView;
  view.ready = true;
  for (int worker = 0; worker < workers; ++worker) {
    auto member = std::make_unique<wire::MemberT>();
    member->role = wire::Role::Worker;
    member->index = static_cast<std::uint32_t>(worker);
    member->incarnation = IncarnationOf(worker);
    member->state = "joined";
    view.members.push_back(std::move(member));
  }
  return view;
}

absl::StatusOr<std::unique_ptr<ps::Server>> CreateServer(const RoleOptions& role,
                                                         const Layout& layout) {
  const RoleSetup setup = SetupOf(role);
  ps::ServerOptions options;
  options.shard.max_workers = role.workers;
  options.shard.max_steps = Step(kNoEnd);
  options.shard.learning_rate = 1;  // bench/common/pattern.h
  options.incarnation = Incarnation(RandomId());
  options.host_id = HostId();
  options.transport_kind = TransportKind(setup);
  options.ucx_version = net::UcxVersion();
  const auto zeros = [](const Block&, std::span<float> values) {
    std::ranges::fill(values, 0.0F);
    return absl::OkStatus();
  };
  // Nobody is there to be told: no step is taken, no checkpoint asked for.
  return ps::CreateThreadedServer(
      layout, role.index, options, [&setup] { return CreateTransport(setup); }, zeros,
      [](const wire::MemberBodyUnion&) {});
}

/// Whether stdin has more to say, or has ended.
bool ToldMore() {
  pollfd in{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return poll(&in, 1, 0) > 0;
}

absl::Status RunControlSide(const std::string& fabric_name, const RoleOptions& options) {
  WEIR_ASSIGN_OR_RETURN(const net::UcxFabric fabric, FabricOf(fabric_name));
  WEIR_ASSIGN_OR_RETURN(const auto responder,
                        ControlResponder::Create(fabric, options.size, options.tensors));
  std::printf("%s\n", responder->ticket().c_str());
  std::fflush(stdout);
  responder->Serve(ToldMore);
  return absl::OkStatus();
}

/// As shard_process.h says.
absl::Status Do(const std::string& line, const RoleOptions& options) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  if (words[0] == "control" && words.size() == 2) return RunControlSide(words[1], options);
  if (line == "rest") {
    std::printf("\n");
    std::fflush(stdout);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("told to '", line, "'"));
}

}  // namespace

absl::Status RunShardProcess(const RoleOptions& options) {
  WEIR_RETURN_IF_ERROR(SettleIn(options));
  WEIR_ASSIGN_OR_RETURN(const Layout layout, LayoutOf(options));
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<ps::Server> server, CreateServer(options, layout));
  server->OnView(WholeView(options.workers));
  ShardService service(*server);
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::Server> rpc,
                        rpc::Server::Create({.who = absl::StrCat("ps ", options.index),
                                             .address = "127.0.0.1:0",
                                             .loopback_only = true},
                                            nullptr, &service));
  std::printf("%d\n", rpc->port());
  std::fflush(stdout);
  std::string line;
  while (std::getline(std::cin, line)) WEIR_RETURN_IF_ERROR(Do(line, options));
  rpc->Shutdown(absl::ZeroDuration());
  server->Stop();
  return absl::OkStatus();
}

}  // namespace weir::bench
