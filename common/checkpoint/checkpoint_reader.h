#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/unique_fd.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/safetensors.h"
#include "weir/tensor_spec.h"

namespace weir {

/// Reads any elements of a checkpoint, however many shards wrote it. An entry's checksum is
/// verified when the first of its elements is asked for. All files stay open, so that a checkpoint
/// pruned meanwhile still reads.
/// Threads: one at a time. Errors: all with exit code 3; kDataLoss for what is corrupt.
class CheckpointReader {
 public:
  /// `path`: the checkpoint's folder. Reads the manifest and every file's header, and holds them
  /// against each other. Errors: as ReadManifest; kNotFound and kDataLoss, naming the file, entry,
  /// and what was expected and found.
  static absl::StatusOr<CheckpointReader> Open(const std::string& path);

  const Manifest& manifest() const { return *manifest_; }
  const std::string& path() const { return path_; }

  /// Whether this is a checkpoint of a model with exactly `tensors`, in any order.
  /// Errors: kFailedPrecondition, naming the first tensor that is missing, extra, or of another
  /// shape (then both shapes).
  absl::Status Check(std::span<const TensorSpec> tensors) const;

  /// Fills `out` with elements [offset, offset + out.size()) of a tensor: by name, or by its index
  /// in manifest().tensors. After an error `out` holds nothing of use.
  /// Errors: kNotFound for an unknown tensor; kInvalidArgument beyond its end; kDataLoss, naming
  /// file, tensor, and the checksum expected and found.
  absl::Status ReadRange(absl::string_view tensor, std::int64_t offset, std::span<float> out);
  absl::Status ReadRange(std::size_t tensor, std::int64_t offset, std::span<float> out);

  /// Verifies the checksum of every entry.
  absl::Status VerifyAll();

 private:
  struct File {
    std::string path;
    UniqueFd fd;
  };
  struct Piece {
    std::size_t file;
    std::int64_t offset;     ///< first element within the tensor
    std::int64_t elements;   ///< pieces of a tensor tile it, by ascending offset
    std::uint64_t position;  ///< of its first byte within the file
    std::uint64_t checksum;
    bool verified = false;
  };

  CheckpointReader() = default;
  absl::Status OpenFile(const ManifestFile& listed);
  absl::Status AddPieces(const ManifestFile& listed, const SafetensorsHeader& header);
  absl::Status ReadPiece(std::size_t tensor, Piece& piece, std::int64_t from, std::span<float> out);
  absl::Status VerifyPiece(std::size_t tensor, Piece& piece);
  absl::Status CheckSum(std::size_t tensor, Piece& piece, std::uint64_t found) const;

  std::string path_;
  std::unique_ptr<Manifest> manifest_;  ///< on the heap: index_ refers to its names
  std::vector<File> files_;
  absl::flat_hash_map<absl::string_view, std::size_t> index_;  ///< into manifest_->tensors
  std::vector<std::vector<Piece>> pieces_;                     ///< by tensor
};

}  // namespace weir
