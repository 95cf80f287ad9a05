#include "common/base/ids.h"

#include <unistd.h>

#include <cstdlib>

namespace weir {

// Not std::random_device: that may take the processor's word (rdrand) for randomness, and throws.
std::uint64_t RandomId() {
  std::uint64_t id = 0;
  while (id == 0) {
    // Fails only where the kernel has no such call; an id that can be guessed would be worse.
    if (getentropy(&id, sizeof id) != 0) std::abort();
  }
  return id;
}

}  // namespace weir
