#include "ps_server/logic/shard_counters.h"

namespace weir::ps {
namespace {

// Value-initialised: std::atomic's default constructor zeroes since C++20.
template <typename T>
std::unique_ptr<std::atomic<T>[]> Zeros(int count) {
  return std::make_unique<std::atomic<T>[]>(static_cast<std::size_t>(count));
}

}  // namespace

ShardCounters::ShardCounters(int max_workers)
    : max_workers_(max_workers),
      clocks_(Zeros<std::uint32_t>(max_workers)),
      applied_(Zeros<std::uint64_t>(max_workers)),
      completed_(Zeros<std::uint64_t>(max_workers)) {}

}  // namespace weir::ps
