#include "worker/data/example_store.h"

#include <algorithm>
#include <utility>

namespace weir {

ByteExamples::ByteExamples(ByteBuffer features, ByteBuffer labels)
    : features_(std::move(features)),
      labels_(std::move(labels)),
      stride_(features_.size() / labels_.size()) {}

std::int32_t ByteExamples::Read(std::uint32_t index, std::span<float> features) const {
  const std::uint8_t* const row = features_.data() + index * stride_;
  float* const out = features.data();
  for (std::size_t i = 0; i < stride_; ++i) out[i] = row[i];
  return labels_.data()[index];
}

FloatExamples::FloatExamples(std::vector<float> features, std::vector<std::int32_t> labels)
    : features_(std::move(features)),
      labels_(std::move(labels)),
      stride_(features_.size() / labels_.size()) {}

std::int32_t FloatExamples::Read(std::uint32_t index, std::span<float> features) const {
  std::copy_n(features_.data() + index * stride_, stride_, features.data());
  return labels_[index];
}

}  // namespace weir
