#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/model/layout.h"
#include "gtest/gtest.h"
#include "worker/client/logic/client_logic.h"

namespace weir {

inline Layout MakeLayout(std::vector<std::int64_t> sizes, int shards) {
  std::vector<TensorSpec> tensors;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    tensors.push_back({"t" + std::to_string(i), DType::kFloat32, {sizes[i]}});
  }
  return *Layout::Create(std::move(tensors), shards);
}

class RecordingClientOutput final : public ClientOutput {
 public:
  void SendPush(ShardIndex to, const wire::PushBlock& header) override {
    pushes.emplace_back(to, header);
  }
  void SendPull(ShardIndex to, const wire::PullRequest& header) override {
    pulls.emplace_back(to, header);
  }
  std::optional<Version> TryRead(const MappedRead& read) override {
    reads.push_back(read);
    const auto found = mapped.find(read.block);
    if (found == mapped.end() || found->second < read.at_least) return std::nullopt;
    return found->second;
  }
  bool StartRead(const MappedRead& read) override {
    if (reads_from_afar) started.push_back(read);
    return reads_from_afar;
  }
  void SendTicket(ShardIndex to, const wire::TicketRequest& header) override {
    tickets.emplace_back(to, header);
  }
  void DeliverBlock(BlockId block, Version version, ByteSpan payload) override {
    delivered.push_back({block, version, payload.size()});
  }
  void CloseShard(ShardIndex shard, const absl::Status&) override { closed.push_back(shard); }

  struct Delivered {
    BlockId block;
    Version version;
    std::size_t bytes;
  };
  std::vector<std::pair<ShardIndex, wire::PushBlock>> pushes;
  std::vector<std::pair<ShardIndex, wire::PullRequest>> pulls;
  std::vector<std::pair<ShardIndex, wire::TicketRequest>> tickets;
  std::vector<Delivered> delivered;
  std::vector<ShardIndex> closed;
  std::vector<MappedRead> reads;
  bool reads_from_afar = false;
  std::vector<MappedRead> started;    ///< reads from afar
  std::map<BlockId, Version> mapped;  ///< what can be read, and as which version
};

/// Five equal blocks over two shards: 0, 2, 4 on shard 0 (two credits), 1, 3 on shard 1 (one).
class ClientFixture : public ::testing::Test {
 protected:
  static constexpr ShardIndex kA{0};
  static constexpr ShardIndex kB{1};
  static constexpr std::uint64_t kSession[] = {500, 501};

  ClientFixture()
      : layout_(MakeLayout({4, 4, 4, 4, 4}, 2)),
        client_(layout_,
                {.worker = WorkerIndex(3),
                 .incarnation = Incarnation(9),
                 .retry_after = absl::Seconds(1),
                 .busy_backoff = absl::Milliseconds(5)},
                output_) {
    client_.OnConnected(kA, {.session = kSession[0], .push_credits = 2, .pull_credits = 2});
    client_.OnConnected(kB, {.session = kSession[1], .push_credits = 1, .pull_credits = 1});
    client_.OnView(now_, ViewNumber(4));
  }

  ShardIndex ShardOf(std::uint32_t block) const { return layout_.block(BlockId(block)).shard; }
  void Ack(std::uint32_t block, wire::Code code = wire::Code::Ok, std::uint64_t sequence = 1,
           std::uint32_t view = 4) {
    const ShardIndex shard = ShardOf(block);
    client_.OnPushAck(
        now_, shard,
        wire::PushAck(kSession[shard.value()], sequence, 1, view, block, code, 0, 0, 0));
  }
  void Sent(std::uint32_t block) { client_.OnPushSent(now_, BlockId(block)); }
  void Block(std::uint32_t block, wire::Code code = wire::Code::Ok, std::uint64_t request = 1,
             std::uint64_t version = 1, std::uint32_t view = 4) {
    const ShardIndex shard = ShardOf(block);
    const std::vector<std::byte> payload(code == wire::Code::Ok ? 16 : 0);
    client_.OnPullBlock(
        now_, shard,
        wire::PullBlock(kSession[shard.value()], request, version, view, block, code, 0, 0, 0),
        payload);
  }
  void Reply(wire::TicketOutcome outcome, std::uint64_t request = 1, std::uint64_t step = 1,
             std::uint32_t view = 4, std::uint64_t session = 500, ShardIndex shard = kA) {
    client_.OnTicketReply(now_, shard,
                          wire::TicketReply(session, request, step, view, outcome, 0, 0));
  }
  /// Blocks that were asked for, in order, by pull `request`.
  std::vector<std::uint32_t> AskedBlocks(std::uint64_t request) const {
    std::vector<std::uint32_t> blocks;
    for (const auto& [to, header] : output_.pulls) {
      if (header.request() != request) continue;
      const auto here = layout_.blocks_of(to);
      const auto first = std::ranges::find(here, BlockId(header.block()));
      for (std::uint32_t i = 0; i < header.count(); ++i) blocks.push_back((first + i)->value());
    }
    return blocks;
  }
  std::vector<std::uint32_t> PushedBlocks() const {
    std::vector<std::uint32_t> blocks;
    for (const auto& [to, header] : output_.pushes) blocks.push_back(header.block());
    return blocks;
  }
  void Advance(absl::Duration by) {
    now_ += by;
    client_.OnTick(now_);
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  const absl::Time deadline_ = now_ + absl::Minutes(1);
  const Layout layout_;
  RecordingClientOutput output_;
  ClientLogic client_;
};

}  // namespace weir
