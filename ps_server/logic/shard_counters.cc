#include "ps_server/logic/shard_counters.h"

namespace weir::ps {
namespace {

// Value-initialised: std::atomic's default constructor zeroes since C++20.
template <typename T>
std::unique_ptr<std::atomic<T>[]> Zeros(int count) {
  return std::make_unique<std::atomic<T>[]>(static_cast<std::size_t>(count));
}

}  // namespace

ShardCounters::ShardCounters(int blocks, int max_workers)
    : blocks_(blocks),
      max_workers_(max_workers),
      versions_(Zeros<std::uint64_t>(blocks)),
      clocks_(Zeros<std::uint32_t>(max_workers)),
      applied_(Zeros<std::uint64_t>(max_workers)),
      completed_(Zeros<std::uint64_t>(max_workers)) {}

}  // namespace weir::ps
