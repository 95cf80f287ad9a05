#pragma once

#include "schemas/chief_generated.h"
#include "schemas/shard_generated.h"

// What flatbuffers::Verifier 2.0.8 leaves open, closed for every incoming message. The Verifier
// guarantees that reading stays inside the buffer; it does not ask that a union which names a type
// has a body, and does not look at the alignment of vector elements.
namespace weir::rpc {

/// Whether the 8-byte elements of the message's vectors are aligned, so that unpacking may read
/// them. On verified messages only.
template <typename Table>
bool Aligned(const Table&) {
  return true;
}
bool Aligned(const wire::MemberMessage& message);

/// Whether an unpacked message has its body; where it has, tables inside it that the sender left
/// out are filled with defaults: receivers may dereference every pointer in it.
template <typename T>
bool Complete(T&) {
  return true;
}
bool Complete(wire::MemberMessageT& message);
bool Complete(wire::ChiefMessageT& message);
bool Complete(wire::StatusReplyT& reply);

}  // namespace weir::rpc
