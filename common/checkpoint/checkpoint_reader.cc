#include "common/checkpoint/checkpoint_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/model_match.h"
#include "common/checkpoint/shard_file_entries.h"
#include "common/model/tensor_name.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

/// Imported files may hold entries of any size: those are verified in pieces of this many bytes.
constexpr std::size_t kVerifyChunkBytes = 1 << 20;

absl::Status BadData(absl::Status status) {
  return WithExitCode(std::move(status), ExitCode::kBadData);
}

template <typename... Parts>
absl::Status Corrupt(const Parts&... parts) {
  return BadData(absl::DataLossError(absl::StrCat(parts...)));
}

}  // namespace

absl::StatusOr<CheckpointReader> CheckpointReader::Open(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(path));
  CheckpointReader reader;
  reader.path_ = path;
  reader.manifest_ = std::make_unique<Manifest>(std::move(manifest));
  const std::vector<TensorSpec>& tensors = reader.manifest_->tensors;
  for (std::size_t t = 0; t < tensors.size(); ++t) reader.index_.emplace(tensors[t].name, t);
  reader.pieces_.resize(tensors.size());
  for (const ManifestFile& listed : reader.manifest_->files) {
    WEIR_RETURN_IF_ERROR(reader.OpenFile(listed));
  }
  for (std::vector<Piece>& pieces : reader.pieces_) {
    std::ranges::sort(pieces, {}, &Piece::offset);
  }
  return reader;
}

absl::Status CheckpointReader::OpenFile(const ManifestFile& listed) {
  const std::string path = absl::StrCat(path_, "/", listed.file);
  absl::StatusOr<OpenedFile> opened = OpenForReading(path);
  if (!opened.ok()) return BadData(std::move(opened).status());
  if (opened->bytes != listed.bytes) {
    return Corrupt(path, opened->bytes < listed.bytes ? ": truncated" : ": too long", ": expected ",
                   listed.bytes, " bytes, found ", opened->bytes);
  }
  const absl::StatusOr<SafetensorsHeader> header =
      ReadSafetensorsHeader(opened->fd, path, opened->bytes);
  if (!header.ok()) return BadData(header.status());
  files_.push_back({path, std::move(opened->fd)});
  return AddPieces(listed, *header);
}

absl::Status CheckpointReader::AddPieces(const ManifestFile& listed,
                                         const SafetensorsHeader& header) {
  const ShardFileEntries entries(files_.back().path, header);
  for (const ManifestEntry& entry : listed.entries) {
    const std::size_t t = index_.at(entry.tensor);  // a valid manifest lists it
    WEIR_ASSIGN_OR_RETURN(const SafetensorsEntry* found,
                          entries.Find(manifest_->tensors[t], entry));
    pieces_[t].push_back({.file = files_.size() - 1,
                          .offset = entry.offset,
                          .elements = entry.elements,
                          .position = header.data_start + found->begin,
                          .checksum = entry.checksum});
  }
  return absl::OkStatus();
}

absl::Status CheckpointReader::Check(std::span<const TensorSpec> tensors) const {
  const std::optional<std::string> mismatch = ModelMismatch(manifest_->tensors, tensors);
  if (!mismatch.has_value()) return absl::OkStatus();
  return BadData(absl::FailedPreconditionError(
      absl::StrCat("checkpoint ", path_, " is of another model: ", *mismatch,
                   "; use another model directory, or the job that wrote it")));
}

absl::Status CheckpointReader::ReadRange(absl::string_view tensor, std::int64_t offset,
                                         std::span<float> out) {
  const auto found = index_.find(tensor);
  if (found == index_.end()) {
    return BadData(absl::NotFoundError(
        absl::StrCat("checkpoint ", path_, " has no tensor ", QuotedName(tensor))));
  }
  return ReadRange(found->second, offset, out);
}

absl::Status CheckpointReader::ReadRange(std::size_t tensor, std::int64_t offset,
                                         std::span<float> out) {
  if (tensor >= pieces_.size()) {
    return BadData(absl::NotFoundError(
        absl::StrCat("checkpoint ", path_, " has ", pieces_.size(), " tensors, none ", tensor)));
  }
  const std::int64_t total = manifest_->tensors[tensor].elements();
  const auto count = static_cast<std::int64_t>(out.size());
  if (offset < 0 || offset > total || count > total - offset) {
    return BadData(absl::InvalidArgumentError(
        absl::StrCat("checkpoint ", path_, ": ", count, " elements at ", offset, " of tensor ",
                     QuotedName(manifest_->tensors[tensor].name), ", which has ", total)));
  }
  std::vector<Piece>& pieces = pieces_[tensor];
  auto piece = std::ranges::upper_bound(pieces, offset, {}, &Piece::offset);
  if (piece != pieces.begin()) --piece;
  while (!out.empty()) {
    const std::int64_t from = offset - piece->offset;
    const auto length = std::min(out.size(), static_cast<std::size_t>(piece->elements - from));
    WEIR_RETURN_IF_ERROR(ReadPiece(tensor, *piece, from, out.first(length)));
    out = out.subspan(length);
    offset += static_cast<std::int64_t>(length);
    ++piece;
  }
  return absl::OkStatus();
}

absl::Status CheckpointReader::ReadPiece(std::size_t tensor, Piece& piece, std::int64_t from,
                                         std::span<float> out) {
  const bool whole = static_cast<std::int64_t>(out.size()) == piece.elements;
  if (!piece.verified && !whole) WEIR_RETURN_IF_ERROR(VerifyPiece(tensor, piece));
  const File& file = files_[piece.file];
  const std::uint64_t position = piece.position + static_cast<std::uint64_t>(from) * 4;
  const MutableByteSpan bytes = std::as_writable_bytes(out);
  if (absl::Status read = ReadAt(file.fd, file.path, position, bytes); !read.ok()) {
    return BadData(std::move(read));
  }
  return piece.verified ? absl::OkStatus() : CheckSum(tensor, piece, Checksum(bytes));
}

absl::Status CheckpointReader::VerifyPiece(std::size_t tensor, Piece& piece) {
  const File& file = files_[piece.file];
  std::uint64_t left = static_cast<std::uint64_t>(piece.elements) * 4;
  std::uint64_t position = piece.position;
  std::vector<std::byte> buffer(std::min<std::uint64_t>(left, kVerifyChunkBytes));
  RunningChecksum checksum;
  while (left > 0) {
    const auto chunk =
        MutableByteSpan(buffer).first(std::min<std::uint64_t>(left, kVerifyChunkBytes));
    if (absl::Status read = ReadAt(file.fd, file.path, position, chunk); !read.ok()) {
      return BadData(std::move(read));
    }
    checksum.Append(chunk);
    position += chunk.size();
    left -= chunk.size();
  }
  return CheckSum(tensor, piece, checksum.value());
}

absl::Status CheckpointReader::CheckSum(std::size_t tensor, Piece& piece,
                                        std::uint64_t found) const {
  piece.verified = found == piece.checksum;
  if (piece.verified) return absl::OkStatus();
  const std::string& name = manifest_->tensors[tensor].name;
  return Corrupt(files_[piece.file].path, ": tensor ", QuotedName(name), ", elements ",
                 piece.offset, " to ", piece.offset + piece.elements - 1,
                 ": wrong checksum: expected ", absl::Hex(piece.checksum, absl::kZeroPad16),
                 ", found ", absl::Hex(found, absl::kZeroPad16));
}

absl::Status CheckpointReader::VerifyAll() {
  for (std::size_t t = 0; t < pieces_.size(); ++t) {
    for (Piece& piece : pieces_[t]) {
      if (!piece.verified) WEIR_RETURN_IF_ERROR(VerifyPiece(t, piece));
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
