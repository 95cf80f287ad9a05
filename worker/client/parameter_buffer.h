#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/model/layout.h"
#include "common/net/transport.h"

namespace weir {

/// One value of every tensor of a model, in memory that the client's transport has registered: what
/// Pull writes into and Push sends from, without a copy in between. Tensors are 64-byte aligned,
/// row-major float32, and start as zeros. It may outlive the client that made it.
class ParameterBuffer {
 public:
  static absl::StatusOr<ParameterBuffer> Create(const Layout& layout, net::Transport& transport);

  std::size_t tensors() const { return mutable_.size(); }
  std::span<float> tensor(std::size_t index) { return mutable_[index]; }
  std::span<const std::span<const float>> view() const { return const_; }
  std::span<const std::span<float>> mutable_view() { return mutable_; }

  std::span<float> block(const Block& block);
  std::span<const float> block(const Block& block) const;
  const std::shared_ptr<net::Memory>& memory() const { return memory_; }
  /// Names the memory among all; not 0.
  std::uint64_t id() const { return id_; }
  /// Where `block` begins in the memory, in bytes.
  std::size_t offset(const Block& block) const;

 private:
  ParameterBuffer() = default;
  std::shared_ptr<net::Memory> memory_;
  std::uint64_t id_ = 0;
  std::vector<std::span<float>> mutable_;
  std::vector<std::span<const float>> const_;
};

}  // namespace weir
