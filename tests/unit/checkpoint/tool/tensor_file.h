#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/checkpoint/safetensors.h"

namespace weir {

/// A tensor for a test: little-endian bytes of its values.
struct TestTensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

/// The bytes of `values`, as they lie in memory.
template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Writes a whole safetensors file.
void WriteTensorFile(const std::string& path, const std::vector<TestTensor>& tensors,
                     const std::map<std::string, std::string>& metadata = {});

}  // namespace weir
