#include "tests/unit/checkpoint/tool/tensor_file.h"

#include <cstdlib>

#include "tests/unit/checkpoint/sample_checkpoint.h"

namespace weir {

void WriteTensorFile(const std::string& path, const std::vector<TestTensor>& tensors,
                     const std::map<std::string, std::string>& metadata) {
  std::vector<SafetensorsEntry> entries;
  std::string data;
  for (const TestTensor& tensor : tensors) {
    entries.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape});
    data += tensor.bytes;
  }
  const auto header = FormatSafetensorsHeader(std::move(entries), metadata);
  if (!header.ok() || header->header.data_bytes() != data.size()) std::abort();
  WriteText(path, header->bytes + data);
}

}  // namespace weir
