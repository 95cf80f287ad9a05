#include "common/rpc/wire_checks.h"

#include <cstdint>
#include <memory>

namespace weir::rpc {
namespace {

bool Aligned(const flatbuffers::Vector<std::uint64_t>* vector) {
  return vector == nullptr ||
         reinterpret_cast<std::uintptr_t>(vector->Data()) % alignof(std::uint64_t) == 0;
}

bool Aligned(const wire::ShardStats* stats) {
  return stats == nullptr ||
         (Aligned(stats->staleness()) && Aligned(stats->applied()) && Aligned(stats->completed()));
}

template <typename T>
void Fill(std::unique_ptr<T>& pointer) {
  if (pointer == nullptr) pointer = std::make_unique<T>();
}

/// Also false for a type that this version does not know: its body was not unpacked.
template <typename Union>
bool HasBodyOfItsType(const Union& body) {
  return (static_cast<int>(body.type) == 0) == (body.value == nullptr);
}

}  // namespace

bool Aligned(const wire::MemberMessage& message) {
  if (const auto* done = message.body_as_CheckpointDone()) return Aligned(done->stats());
  if (const auto* stats = message.body_as_Stats()) return Aligned(stats->stats());
  return true;
}

bool Complete(wire::MemberMessageT& message) {
  if (!HasBodyOfItsType(message.body)) return false;
  if (auto* done = message.body.AsCheckpointDone()) Fill(done->stats);
  if (auto* stats = message.body.AsStats()) Fill(stats->stats);
  return true;
}

bool Complete(wire::ChiefMessageT& message) {
  if (!HasBodyOfItsType(message.body)) return false;
  if (auto* changed = message.body.AsViewChanged()) Fill(changed->view);
  return true;
}

bool Complete(wire::StatusReplyT& reply) {
  for (auto& status : reply.members) Fill(status->member);
  return true;
}

}  // namespace weir::rpc
