#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "worker/data/byte_buffer.h"

namespace weir {

/// The files of MNIST and of the data sets made in its likeness: a big-endian header (magic, then
/// a 32-bit count for each dimension), then bytes, the last dimension fastest.
struct IdxImages {
  std::uint32_t count = 0;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  ByteBuffer pixels;  ///< [count, rows, columns]
};

/// Never allocates more than twice what the file really holds, whatever its header says.
/// Errors: exit code 3, the file named, with what was found and what was expected.
absl::StatusOr<IdxImages> ReadIdxImages(const std::string& path);

/// One byte a label; as above.
absl::StatusOr<ByteBuffer> ReadIdxLabels(const std::string& path);

}  // namespace weir
