#include "worker/client/parameter_buffer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/ids.h"
#include "common/base/status_macros.h"

namespace weir {
namespace {

constexpr std::size_t kFloatsPerLine = 64 / sizeof(float);

std::size_t PaddedElements(const TensorSpec& tensor) {
  const auto elements = static_cast<std::size_t>(tensor.elements());
  return (elements + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
}

// All tensors, those of one shard together: what lies in a row travels without being gathered.
std::vector<std::size_t> ByShard(const Layout& layout) {
  std::vector<ShardIndex> shard_of(layout.tensors().size());
  for (const Block& block : layout.blocks()) shard_of[block.tensor] = block.shard;
  std::vector<std::size_t> tensors(shard_of.size());
  std::iota(tensors.begin(), tensors.end(), 0);
  std::ranges::stable_sort(tensors, {}, [&](std::size_t i) { return shard_of[i]; });
  return tensors;
}

}  // namespace

absl::StatusOr<ParameterBuffer> ParameterBuffer::Create(const Layout& layout,
                                                        net::Transport& transport) {
  std::size_t elements = kFloatsPerLine;  // never empty
  for (const TensorSpec& tensor : layout.tensors()) elements += PaddedElements(tensor);
  ParameterBuffer buffer;
  buffer.id_ = RandomId();
  WEIR_ASSIGN_OR_RETURN(buffer.memory_, transport.Allocate(elements * sizeof(float)));
  buffer.mutable_.resize(layout.tensors().size());
  auto* next = reinterpret_cast<float*>(buffer.memory_->bytes().data());
  for (const std::size_t i : ByShard(layout)) {
    const TensorSpec& tensor = layout.tensors()[i];
    buffer.mutable_[i] = {next, static_cast<std::size_t>(tensor.elements())};
    next += PaddedElements(tensor);
  }
  buffer.const_.assign(buffer.mutable_.begin(), buffer.mutable_.end());
  return buffer;
}

std::size_t ParameterBuffer::offset(const Block& block) const {
  const auto* const start = reinterpret_cast<const float*>(memory_->bytes().data());
  return static_cast<std::size_t>(this->block(block).data() - start) * sizeof(float);
}

std::span<float> ParameterBuffer::block(const Block& block) {
  return mutable_[block.tensor].subspan(static_cast<std::size_t>(block.offset),
                                        static_cast<std::size_t>(block.elements));
}

std::span<const float> ParameterBuffer::block(const Block& block) const {
  return const_[block.tensor].subspan(static_cast<std::size_t>(block.offset),
                                      static_cast<std::size_t>(block.elements));
}

}  // namespace weir
