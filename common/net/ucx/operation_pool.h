#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace weir::net {

/// Hands out operations and takes them back; grows by slabs and never shrinks, so that a warm
/// transport sends without allocating. An Operation has a pointer `endpoint` that is null while it
/// is not under way. One thread.
template <typename Operation>
class OperationPool {
 public:
  Operation* Take() {
    if (free_.empty()) Grow();
    Operation* operation = free_.back();
    free_.pop_back();
    return operation;
  }
  /// `free_` has room for every operation there is.
  void Give(Operation* operation) {
    operation->endpoint = nullptr;
    free_.push_back(operation);
  }
  template <typename Visit>
  void ForEachUnderWay(Visit visit) {
    for (const auto& slab : slabs_) {
      for (Operation& operation : *slab) {
        if (operation.endpoint != nullptr) visit(operation);
      }
    }
  }

 private:
  static constexpr std::size_t kSlab = 64;
  using Slab = std::array<Operation, kSlab>;

  void Grow() {
    slabs_.push_back(std::make_unique<Slab>());
    free_.reserve(slabs_.size() * kSlab);
    for (Operation& operation : *slabs_.back()) free_.push_back(&operation);
  }

  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<Operation*> free_;
};

}  // namespace weir::net
