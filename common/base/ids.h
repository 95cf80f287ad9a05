#pragma once

#include <compare>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir {

/// An integer that cannot be mixed up with another kind of integer.
template <typename Tag, typename Rep>
class StrongId {
 public:
  using rep = Rep;
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr StrongId next() const { return StrongId(static_cast<Rep>(value_ + 1)); }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
  template <typename H>
  friend H AbslHashValue(H h, StrongId id) {
    return H::combine(std::move(h), id.value_);
  }
  friend std::ostream& operator<<(std::ostream& out, StrongId id) { return out << +id.value_; }

 private:
  Rep value_{};
};

using WorkerIndex = StrongId<struct WorkerIndexTag, std::uint16_t>;
using ShardIndex = StrongId<struct ShardIndexTag, std::uint16_t>;
/// Numbers the blocks of a model from 0, in the order of its tensors.
using BlockId = StrongId<struct BlockIdTag, std::uint32_t>;
/// One life of one process: random, so that a restarted role never resembles its predecessor.
using Incarnation = StrongId<struct IncarnationTag, std::uint64_t>;
/// Numbers a worker's pushes, from 1 in each incarnation.
using Sequence = StrongId<struct SequenceTag, std::uint64_t>;
/// Numbers a worker's pulls or ticket requests, from 1 in each incarnation.
using RequestId = StrongId<struct RequestIdTag, std::uint64_t>;
/// The membership's number; 0 is before the first.
using ViewNumber = StrongId<struct ViewNumberTag, std::uint32_t>;
/// Global step: the pushes that every shard acknowledged, over all workers.
using Step = StrongId<struct StepTag, std::uint64_t>;
/// Counts the updates of one block.
using Version = StrongId<struct VersionTag, std::uint64_t>;
/// Counts the pushes of one worker.
using WorkerClock = StrongId<struct WorkerClockTag, std::uint32_t>;

/// A random 64-bit number from the kernel, never 0, that nobody can guess. For incarnations, sessions
/// (docs/security.md) and nonces.
std::uint64_t RandomId();

}  // namespace weir
