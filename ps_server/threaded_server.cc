#include "ps_server/threaded_server.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/numa.h"
#include "common/base/status_macros.h"

namespace weir::ps {
namespace {

class ThreadedServer final : public Server {
 public:
  explicit ThreadedServer(std::vector<std::unique_ptr<Server>> threads)
      : threads_(std::move(threads)) {}

  wire::ConnectReplyT Connect(const wire::ConnectRequestT& request) override {
    if (request.thread < threads_.size()) return threads_[request.thread]->Connect(request);
    wire::ConnectReplyT reply;
    reply.reason = absl::StrCat("this ps has ", threads_.size(), " threads, none ", request.thread);
    return reply;
  }
  void OnView(const wire::ViewT& view) override {
    for (const auto& thread : threads_) thread->OnView(view);
  }
  void TakeCheckpoint(std::uint32_t id, const std::string& folder) override {
    for (const auto& thread : threads_) thread->TakeCheckpoint(id, folder);
  }
  void StopTraining() override {
    for (const auto& thread : threads_) thread->StopTraining();
  }
  void SendStats() override {
    for (const auto& thread : threads_) thread->SendStats();
  }
  Step global_step() const override { return threads_.front()->global_step(); }
  std::uint64_t strangers_messages() const override {
    std::uint64_t sum = 0;
    for (const auto& thread : threads_) sum += thread->strangers_messages();
    return sum;
  }
  void Stop() override {
    for (const auto& thread : threads_) thread->Stop();
  }

 private:
  const std::vector<std::unique_ptr<Server>> threads_;  // never empty
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> CreateThreadedServer(const Layout& layout, int server,
                                                             ServerOptions options,
                                                             const TransportMaker& make_transport,
                                                             const BlockLoader& loader,
                                                             const Server::Report& report) {
  const std::vector<std::vector<int>> nodes = NumaNodes();
  std::vector<std::unique_ptr<Server>> threads;
  for (int t = 0; t < layout.threads(); ++t) {
    // The thread that is started inherits it.
    std::optional<CpuBound> bound;
    if (nodes.size() > 1 && layout.threads() > 1) {
      bound.emplace(nodes[static_cast<std::size_t>(t) % nodes.size()]);
    }
    options.thread = t;
    options.shard.shard = layout.shard_of(server, t);
    options.shard.has_step_counter = options.shard.shard == ShardIndex(0);
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<net::Transport> transport, make_transport());
    WEIR_ASSIGN_OR_RETURN(threads.emplace_back(),
                          Server::Create(layout, options, std::move(transport), loader, report));
  }
  if (threads.size() == 1) return std::move(threads.front());
  return std::make_unique<ThreadedServer>(std::move(threads));
}

}  // namespace weir::ps
