#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "worker/client/logic/backoff.h"

namespace weir::client {

/// Consecutive blocks of one shard, by position in Layout::blocks_of.
struct BlockRun {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Where each block of one operation on one shard stands, and how many may be on their way.
///
/// A block holds a credit from its send until it is answered *and* its bytes were read, and what is
/// sent again for want of an answer keeps it: so repetition never adds to what is under way. Every
/// step is O(1) but Start (all blocks) and those that say so (blocks under way). Allocates nothing
/// after construction.
class BlockWindow {
 public:
  explicit BlockWindow(std::size_t blocks);

  void set_credits(int credits) { credits_ = credits; }
  int credits() const { return credits_; }
  /// Credits that are held now.
  int used() const { return used_; }
  /// Blocks that are not done.
  std::size_t remaining() const { return remaining_; }
  /// Blocks that wait for Release.
  std::size_t held() const { return held_; }
  /// Blocks whose bytes are being read.
  int reading() const { return reading_; }

  /// A new operation: every block is held until Release.
  void Start();
  /// A held block is to be sent; if its bytes are still being read, as soon as they were. Whether
  /// it was held.
  bool Release(absl::Time now, std::size_t position);
  /// The operation is over: nothing is due any more.
  void Stop();

  /// The next blocks to send, at most `most` in a row, within the credits; they are under way from
  /// now on and due at `due`. Empty when there is nothing to send.
  BlockRun Take(absl::Time due, std::size_t most);
  /// The bytes of a block that was just taken are being read, until BytesRead.
  void BytesLent(std::size_t position);
  void BytesRead(absl::Time now, std::size_t position);

  /// Whether it was sent for this operation, and is not answered.
  bool under_way(std::size_t position) const {
    return entries_[position].state == State::kUnderWay;
  }

  /// Whether the block was not done before.
  bool Finish(std::size_t position);
  // Refusals. False, and no change, if the block is not under way (a late or repeated answer).
  /// It is sent again after `backoff`, which grows with each refusal until a new view comes.
  bool Delay(absl::Time now, std::size_t position, const Backoff& backoff);
  bool AwaitView(std::size_t position);

  /// Readies the blocks that wait for a view. O(under way).
  void ViewCame(absl::Time now);
  /// Readies what is due. O(under way).
  void Expire(absl::Time now);
  /// When Expire has something to do. O(under way).
  absl::Time next_due() const;

  /// First and last position that is not done; only when some remain. O(blocks), for errors.
  BlockRun Missing() const;
  /// "3 unanswered, 2 to be sent", for errors. O(blocks).
  std::string Describe() const;

 private:
  enum class State : std::uint8_t {
    kIdle,
    kHeld,
    kReady,
    kUnderWay,
    kDelayed,
    kAwaitingView,
    kDone
  };
  struct Entry {
    State state = State::kIdle;
    bool reading = false;
    bool holds_credit = false;
    std::uint8_t refusals = 0;    // in a row
    std::uint32_t active_at = 0;  // in active_, for the three states in the middle
    absl::Time due;
  };

  static bool IsActive(State state);
  void Enter(std::size_t position, State state);
  void MakeReady(std::size_t position);
  void SendAgain(std::size_t position);
  void SettleCredit(std::size_t position);
  bool SkipAnswered();
  void PopFront();

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> active_;  // unordered
  // A block enters the ring at most once between two ready states, so `blocks` places do; a block
  // that was answered while in it is skipped when it comes up.
  std::vector<std::uint32_t> ring_;
  std::size_t ring_first_ = 0;
  std::size_t ring_size_ = 0;
  std::size_t remaining_ = 0;
  std::size_t held_ = 0;
  int credits_ = 1;
  int used_ = 0;
  int reading_ = 0;
};

}  // namespace weir::client
