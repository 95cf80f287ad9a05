#include "common/checkpoint/tool/tensor_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/status_macros.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/safetensors_file.h"

namespace weir {
namespace {

class CheckpointSource final : public TensorSource {
 public:
  explicit CheckpointSource(CheckpointReader reader) : reader_(std::move(reader)) {
    for (const TensorSpec& tensor : reader_.manifest().tensors) {
      tensors_.push_back({.name = tensor.name,
                          .dtype = "F32",
                          .shape = tensor.shape,
                          .bytes = static_cast<std::uint64_t>(tensor.elements()) * 4});
    }
    std::ranges::sort(tensors_, {}, &SourceTensor::name);
  }

  absl::Status Read(std::size_t tensor, std::uint64_t offset, MutableByteSpan out) override {
    const std::span values(reinterpret_cast<float*>(out.data()), out.size() / 4);
    return reader_.ReadRange(tensors_[tensor].name, static_cast<std::int64_t>(offset / 4), values);
  }

 private:
  CheckpointReader reader_;
};

class FileSource final : public TensorSource {
 public:
  explicit FileSource(SafetensorsFile file) : file_(std::move(file)) {
    const std::span<const SafetensorsEntry> entries = file_.header().entries;
    for (std::size_t i = 0; i < entries.size(); ++i) entries_.push_back(i);
    std::ranges::sort(entries_, {}, [&](std::size_t i) { return entries[i].name; });
    for (const std::size_t i : entries_) {
      const SafetensorsEntry& entry = entries[i];
      tensors_.push_back({.name = entry.name,
                          .dtype = entry.dtype,
                          .shape = entry.shape,
                          .bytes = entry.end - entry.begin});
    }
  }

  absl::Status Read(std::size_t tensor, std::uint64_t offset, MutableByteSpan out) override {
    return file_.Read(entries_[tensor], offset, out);
  }

 private:
  SafetensorsFile file_;
  std::vector<std::size_t> entries_;  // of the file, by index into tensors_
};

}  // namespace

absl::StatusOr<std::unique_ptr<TensorSource>> TensorSource::Open(const std::string& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    WEIR_ASSIGN_OR_RETURN(CheckpointReader reader, CheckpointReader::Open(path));
    return std::make_unique<CheckpointSource>(std::move(reader));
  }
  WEIR_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(path));
  return std::make_unique<FileSource>(std::move(file));
}

}  // namespace weir
