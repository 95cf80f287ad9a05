#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/model/layout.h"
#include "gtest/gtest.h"
#include "ps_server/logic/block_store.h"
#include "ps_server/logic/shard.h"

namespace weir::ps {

/// 64-byte aligned, as the shipping server's registered memory is.
class AlignedMemory {
 public:
  explicit AlignedMemory(std::size_t bytes)
      : bytes_((bytes + 63) / 64 * 64 + 64), data_(std::aligned_alloc(64, bytes_)) {}
  AlignedMemory(const AlignedMemory&) = delete;
  AlignedMemory& operator=(const AlignedMemory&) = delete;
  ~AlignedMemory() { std::free(data_); }
  MutableByteSpan bytes() { return {static_cast<std::byte*>(data_), bytes_}; }

 private:
  std::size_t bytes_;
  void* data_;
};

inline Layout MakeLayout(std::vector<std::int64_t> sizes, int shards) {
  std::vector<TensorSpec> tensors;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    tensors.push_back({"t" + std::to_string(i), DType::kFloat32, {sizes[i]}});
  }
  return *Layout::Create(std::move(tensors), shards);
}

class RecordingShardOutput final : public ShardOutput {
 public:
  struct Sent {
    WorkerIndex to;
    wire::PullBlock header;
    BlockPin pin;
  };
  void SendPushAck(WorkerIndex, const wire::PushAck& ack) override { acks.push_back(ack); }
  void SendBlock(WorkerIndex to, const wire::PullBlock& header, BlockPin pin) override {
    blocks.push_back({to, header, pin});
  }
  void SendPullRefusal(WorkerIndex, const wire::PullBlock& header) override {
    refusals.push_back(header);
  }
  void SendTicket(WorkerIndex to, const wire::TicketReply& reply) override {
    tickets.emplace_back(to, reply);
  }
  void CloseWorker(WorkerIndex worker, absl::string_view what) override {
    closed.emplace_back(worker, std::string(what));
  }
  void StepCompleted(Step step) override { steps.push_back(step); }

  std::vector<wire::PushAck> acks;
  std::vector<Sent> blocks;
  std::vector<wire::PullBlock> refusals;
  std::vector<std::pair<WorkerIndex, wire::TicketReply>> tickets;
  std::vector<std::pair<WorkerIndex, std::string>> closed;
  std::vector<Step> steps;
};

inline constexpr Incarnation kIncarnation[] = {Incarnation(101), Incarnation(102),
                                               Incarnation(103)};

/// Shard 0 of a layout of three blocks of 4, 3 and 2 elements, two of which are here; three
/// workers, in view 1; learning rate 1/2.
class ShardFixture : public ::testing::Test {
 protected:
  explicit ShardFixture(int spares = 1, Step max_steps = Step(3))
      : layout_(MakeLayout({4, 3, 2}, 2)),
        memory_(BlockStore::BytesNeeded(layout_, kShard, spares)),
        store_(layout_, kShard, spares, memory_.bytes()),
        counters_(3),
        shard_(layout_,
               {.shard = kShard,
                .max_workers = 3,
                .start_step = Step(0),
                .max_steps = max_steps,
                .learning_rate = 0.5F,
                .push_credits = 4,
                .pull_credits = 2,
                .has_step_counter = true},
               store_, counters_, output_) {
    for (BlockId block : layout_.blocks_of(kShard))
      std::ranges::fill(store_.InitialValues(block), 0.0F);
    View(1, {0, 1, 2});
  }

  void View(std::uint32_t number, std::vector<int> workers) {
    std::vector<LiveWorker> live;
    for (int w : workers)
      live.push_back({WorkerIndex(static_cast<std::uint16_t>(w)), kIncarnation[w]});
    shard_.OnView(ViewNumber(number), live);
  }

  static constexpr ShardIndex kShard{0};

  const Layout layout_;
  AlignedMemory memory_;
  BlockStore store_;
  ShardCounters counters_;
  RecordingShardOutput output_;
  Shard shard_;
};

}  // namespace weir::ps
