#include "worker/data/idx_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "worker/data/data_file.h"

namespace weir {
namespace {

constexpr std::uint32_t kImagesMagic = 2051;  // unsigned bytes, 3 dimensions
constexpr std::uint32_t kLabelsMagic = 2049;  // unsigned bytes, 1 dimension
constexpr std::size_t kFirstBytes = 1 << 20;

std::uint32_t BigEndian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

// Magic and dimensions. The magic is judged first: a file that is something else altogether had
// better be called that than short.
absl::Status ReadHeader(DataFile& file, std::uint32_t magic, std::span<std::uint32_t> dimensions) {
  std::array<std::uint8_t, 16> header{};
  const std::size_t header_bytes = 4 + 4 * dimensions.size();
  WEIR_ASSIGN_OR_RETURN(const std::size_t got, file.Read(std::span(header).first(header_bytes)));
  if (got >= 4 && BigEndian(header.data()) != magic) {
    return BadFile(file.path(),
                   absl::StrCat("has the magic number ", BigEndian(header.data()), ", expected ",
                                magic, " (IDX ", magic == kImagesMagic ? "images" : "labels", ")"));
  }
  if (got < header_bytes) {
    return BadFile(file.path(),
                   absl::StrCat("ends after ", got, " bytes, inside its header of ", header_bytes));
  }
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    dimensions[i] = BigEndian(header.data() + 4 + 4 * i);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> PayloadBytes(const std::string& path,
                                         std::span<const std::uint32_t> dimensions) {
  const std::string text = absl::StrJoin(dimensions, " x ");
  if (dimensions[0] == 0) return BadFile(path, "holds no examples: its header says 0");
  std::size_t product = 1;
  for (const std::uint32_t dimension : dimensions) {
    if (dimension == 0) return BadFile(path, absl::StrCat("has an empty dimension: ", text));
    if (__builtin_mul_overflow(product, std::size_t{dimension}, &product)) {
      return BadFile(path, absl::StrCat("has impossible dimensions: ", text));
    }
  }
  return product;
}

// Grows with what arrives, so a header that promises terabytes costs nothing.
absl::StatusOr<ByteBuffer> ReadPayload(DataFile& file, std::size_t bytes,
                                       std::span<const std::uint32_t> dimensions) {
  const auto wrong_length = [&](absl::string_view found) {
    return BadFile(file.path(),
                   absl::StrCat("has a payload of ", found, " bytes, expected ", bytes,
                                " by its dimensions ", absl::StrJoin(dimensions, " x ")));
  };
  ByteBuffer payload;
  std::size_t done = 0;
  while (done < bytes) {
    const std::size_t size = std::min(bytes, std::max(kFirstBytes, 2 * done));
    if (!payload.Grow(size)) {
      return BadFile(file.path(), absl::StrCat("does not fit in memory: ", bytes, " bytes"));
    }
    WEIR_ASSIGN_OR_RETURN(const std::size_t got, file.Read(payload.tail(done)));
    done += got;
    if (done < size) return wrong_length(absl::StrCat("only ", done));
  }
  // The end must follow, and with it gzip's own checksum is verified.
  std::array<std::uint8_t, 4096> extra;
  WEIR_ASSIGN_OR_RETURN(const std::size_t more, file.Read(extra));
  if (more == extra.size()) return wrong_length(absl::StrCat("at least ", bytes + more));
  if (more > 0) return wrong_length(absl::StrCat(bytes + more));
  return payload;
}

}  // namespace

absl::StatusOr<IdxImages> ReadIdxImages(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(DataFile file, DataFile::Open(path));
  std::array<std::uint32_t, 3> dimensions{};
  WEIR_RETURN_IF_ERROR(ReadHeader(file, kImagesMagic, dimensions));
  WEIR_ASSIGN_OR_RETURN(const std::size_t bytes, PayloadBytes(path, dimensions));
  WEIR_ASSIGN_OR_RETURN(ByteBuffer pixels, ReadPayload(file, bytes, dimensions));
  return IdxImages{dimensions[0], dimensions[1], dimensions[2], std::move(pixels)};
}

absl::StatusOr<ByteBuffer> ReadIdxLabels(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(DataFile file, DataFile::Open(path));
  std::array<std::uint32_t, 1> dimensions{};
  WEIR_RETURN_IF_ERROR(ReadHeader(file, kLabelsMagic, dimensions));
  WEIR_ASSIGN_OR_RETURN(const std::size_t bytes, PayloadBytes(path, dimensions));
  return ReadPayload(file, bytes, dimensions);
}

}  // namespace weir
