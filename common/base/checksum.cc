#include "common/base/checksum.h"

#include <xxhash.h>

namespace weir {

std::uint64_t Checksum(ByteSpan bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace weir
