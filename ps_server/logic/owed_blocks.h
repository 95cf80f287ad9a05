#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "common/base/ids.h"
#include "schemas/data_generated.h"

namespace weir::ps {

/// Blocks that one worker asked for while as many as it has credits were still being read for it,
/// in order. A correct worker gets there often: its credit is free when a block arrived, the
/// shard's when the fabric said that it has the bytes, which is later. The next report serves them.
///
/// Bounded by the credits, so that what a worker can make a shard remember is bounded.
/// Threading: one owner. Allocates nothing after construction.
class OwedBlocks {
 public:
  struct Owed {
    wire::PullRequest request;
    BlockId block;
  };

  explicit OwedBlocks(int credits) : most_(static_cast<std::size_t>(credits)) {
    owed_.reserve(most_);
  }

  /// Owes `block` of `request`. What is owed already, and what belongs to an earlier pull than what
  /// is owed, adds nothing; a later pull ends the earlier one, whose worker waits for it no more.
  /// False if as much is owed as there are credits.
  bool Add(const wire::PullRequest& request, BlockId block) {
    if (!owed_.empty() && owed_.front().request.request() != request.request()) {
      if (request.request() < owed_.front().request.request()) return true;
      owed_.clear();
    }
    if (std::ranges::count(owed_, block, &Owed::block) > 0) return true;
    if (owed_.size() == most_) return false;
    owed_.push_back({request, block});
    return true;
  }

  /// The oldest one, which is owed no more.
  std::optional<Owed> Take() {
    if (owed_.empty()) return std::nullopt;
    const Owed first = owed_.front();
    owed_.erase(owed_.begin());
    return first;
  }

  bool empty() const { return owed_.empty(); }
  void Clear() { owed_.clear(); }

 private:
  std::size_t most_;
  std::vector<Owed> owed_;  // of one pull
};

}  // namespace weir::ps
