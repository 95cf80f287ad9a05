#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/arena/arena_format.h"
#include "common/base/ids.h"
#include "common/net/transport.h"

namespace weir {

/// Reads blocks out of one shard's memory from afar, while the shard writes to it
/// (docs/decisions/0017): the blocks' words, the blocks, the words again. A word that is even and
/// the same both times means that its block arrived whole; else the block is read once more, and
/// after three attempts declined. Many blocks go together, one batch at a time, so that the three
/// round trips are paid once for all of them.
///
/// Threads: the transport's owner. Destroy it when it is idle, or after its transport: it owns
/// memory that its gets write to.
class OneSidedReader {
 public:
  static constexpr int kAttempts = 3;

  struct Read {
    BlockId block;
    std::size_t position = 0;  ///< among its shard's
    std::span<float> to;       ///< its place, which lies in `memory`; undefined until it is whole
    const net::Memory* memory = nullptr;
    ViewNumber view;   ///< the shard must have this one
    Version at_least;  ///< an older one is declined
  };
  /// How a read ended: the version that is in its place now, whole; nothing where it was declined.
  /// Called once for each Add, from within OnGot; may call Add.
  using Done = std::function<void(const Read& read, std::optional<Version> version)>;

  /// Reads the arena of `blocks` blocks of this incarnation of shard `shard` in `memory`. The
  /// tokens of its gets are the shard's number. Errors: Transport::Allocate's; kInvalidArgument
  /// where `memory` is too small to be an arena.
  static absl::StatusOr<std::unique_ptr<OneSidedReader>> Create(
      net::Transport& transport, std::unique_ptr<net::RemoteMemory> memory, ShardIndex shard,
      std::size_t blocks, Incarnation incarnation, Done done);

  /// Notes a read for the next Start.
  void Add(const Read& read) { waiting_.push_back({read, 0}); }
  /// Starts a batch of what was added, unless one is under way. Whether it did.
  bool Start();
  /// One of its gets has ended.
  void OnGot(const absl::Status& status);
  /// Lets go of the remote memory, before the transport ends: nothing is started or done any more,
  /// whatever still ends.
  void LetGo();
  /// Reads that were added and are not done.
  std::size_t outstanding() const { return waiting_.size() + batch_.size(); }

 private:
  enum class Phase { kIdle, kWords, kBlocks, kWordsAgain };
  struct Item {
    Read read;
    int attempts = 0;
    bool got = false;  // in this attempt
  };

  OneSidedReader(net::Transport& transport, std::unique_ptr<net::RemoteMemory> memory,
                 ShardIndex shard, std::size_t blocks, Incarnation incarnation,
                 std::unique_ptr<net::Memory> scratch, Done done);

  void Get(std::size_t offset, MutableByteSpan into, const net::Memory& memory);
  void GetWords(MutableByteSpan copy);
  void OnPhaseOver();
  void GetBlocks();
  void Judge();
  void DeclineAll();

  // Copies of the arena's start, as of before and after the blocks were read.
  MutableByteSpan before() const { return scratch_->bytes().first(copy_bytes_); }
  MutableByteSpan after() const { return scratch_->bytes().subspan(copy_bytes_, copy_bytes_); }
  static const arena::BlockWord& WordIn(MutableByteSpan copy, std::size_t position);
  bool IsTheArena() const;

  net::Transport& transport_;
  std::unique_ptr<net::RemoteMemory> memory_;  // null after LetGo
  const ShardIndex shard_;
  const std::size_t blocks_;
  const Incarnation incarnation_;
  const std::size_t copy_bytes_;
  const std::unique_ptr<net::Memory> scratch_;
  const Done done_;

  Phase phase_ = Phase::kIdle;
  std::size_t gets_ = 0;  // of this phase, under way
  bool failed_ = false;   // one of this batch's
  std::vector<Item> waiting_;
  std::vector<Item> batch_;
  std::vector<Item> judged_;  // kept for its capacity
};

}  // namespace weir
