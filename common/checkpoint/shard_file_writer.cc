#include "common/checkpoint/shard_file_writer.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/model/tensor_name.h"

namespace weir {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors holds little-endian values");

absl::StatusOr<FormattedHeader> HeaderOf(std::span<const ShardEntry> entries,
                                         const std::map<std::string, std::string>& metadata) {
  std::vector<SafetensorsEntry> named;
  named.reserve(entries.size());
  for (const ShardEntry& entry : entries) {
    const std::int64_t total = TensorSpec{.shape = entry.tensor_shape}.elements();
    const bool whole = entry.elements == total;
    named.push_back({.name = ShardEntryName(entry.tensor, entry.offset, entry.elements, total),
                     .dtype = "F32",
                     .shape = whole ? entry.tensor_shape : std::vector{entry.elements}});
  }
  return FormatSafetensorsHeader(std::move(named), metadata);
}

}  // namespace

absl::StatusOr<ShardFileWriter> ShardFileWriter::Create(
    const std::string& folder, const std::string& file_name, std::vector<ShardEntry> entries,
    const std::map<std::string, std::string>& metadata) {
  WEIR_ASSIGN_OR_RETURN(FormattedHeader header, HeaderOf(entries, metadata));
  WEIR_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(folder, file_name));
  WEIR_RETURN_IF_ERROR(file.WriteAt(0, std::as_bytes(std::span(header.bytes))));
  return ShardFileWriter(std::move(file), file_name, std::move(entries), std::move(header.header));
}

ShardFileWriter::ShardFileWriter(AtomicFile file, std::string file_name,
                                 std::vector<ShardEntry> entries, SafetensorsHeader header)
    : file_(std::move(file)),
      file_name_(std::move(file_name)),
      entries_(std::move(entries)),
      header_(std::move(header)),
      written_(entries_.size(), 0),
      checksums_(entries_.size(), Checksum({})) {}

absl::Status ShardFileWriter::Append(std::size_t entry, std::span<const float> values) {
  if (entry >= entries_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_.temporary_path(), ": entry ", entry, " of only ", entries_.size()));
  }
  std::int64_t& written = written_[entry];
  const std::int64_t total = entries_[entry].elements;
  const auto count = static_cast<std::int64_t>(values.size());
  if (count > total - written) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_.temporary_path(), ": ", count, " values after the first ", written,
                     " of entry ", QuotedName(header_.entries[entry].name), ", which has ", total));
  }
  const ByteSpan bytes = std::as_bytes(values);
  const std::uint64_t position = header_.data_start + header_.entries[entry].begin;
  WEIR_RETURN_IF_ERROR(file_.WriteAt(position + static_cast<std::uint64_t>(written) * 4, bytes));
  if (count == total) {
    checksums_[entry] = Checksum(bytes);
  } else {
    running_[entry].Append(bytes);
    checksums_[entry] = running_[entry].value();
  }
  written += count;
  if (written == total) running_.erase(entry);
  return absl::OkStatus();
}

absl::StatusOr<ManifestFile> ShardFileWriter::Finish() {
  ManifestFile result{.file = file_name_, .bytes = header_.data_start + header_.data_bytes()};
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const ShardEntry& entry = entries_[i];
    if (written_[i] < entry.elements) {
      return absl::FailedPreconditionError(
          absl::StrCat(file_.temporary_path(), ": entry ", QuotedName(header_.entries[i].name),
                       " has ", written_[i], " of ", entry.elements, " values"));
    }
    result.entries.push_back({.tensor = entry.tensor,
                              .offset = entry.offset,
                              .elements = entry.elements,
                              .checksum = checksums_[i]});
  }
  WEIR_RETURN_IF_ERROR(file_.Commit());
  return result;
}

}  // namespace weir
