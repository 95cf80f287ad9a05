#include "common/base/checksum.h"

#include <xxhash.h>

#include <new>

namespace weir {
namespace {
XXH3_state_t* StateOf(void* state) { return static_cast<XXH3_state_t*>(state); }
}  // namespace

std::uint64_t Checksum(ByteSpan bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

void RunningChecksum::Free::operator()(void* state) const { XXH3_freeState(StateOf(state)); }

RunningChecksum::RunningChecksum() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();  // as any other allocation that fails
  XXH3_64bits_reset(StateOf(state_.get()));
}

void RunningChecksum::Append(ByteSpan bytes) {
  XXH3_64bits_update(StateOf(state_.get()), bytes.data(), bytes.size());
}

std::uint64_t RunningChecksum::value() const { return XXH3_64bits_digest(StateOf(state_.get())); }

}  // namespace weir
