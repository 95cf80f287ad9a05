#pragma once

#include <cstdint>
#include <vector>

#include "common/base/ids.h"
#include "common/net/transport.h"
#include "ps_server/logic/block_store.h"

namespace weir::ps {

/// Remembers which pin each block under way holds, by send token. Grows to the credits' sum and is
/// reused from then on. Threading: one owner.
class SendSlab {
 public:
  struct Entry {
    WorkerIndex worker;
    BlockPin pin;
  };

  net::SendToken Add(const Entry& entry) {
    if (free_.empty()) {
      entries_.push_back(entry);
      return net::SendToken(entries_.size() - 1);
    }
    const std::uint64_t index = free_.back();
    free_.pop_back();
    entries_[index] = entry;
    return net::SendToken(index);
  }

  std::size_t in_use() const { return entries_.size() - free_.size(); }

  Entry Take(net::SendToken token) {
    free_.push_back(token.value());
    return entries_[token.value()];
  }

 private:
  std::vector<Entry> entries_;
  std::vector<std::uint64_t> free_;
};

}  // namespace weir::ps
