#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "weir/dataset.h"
#include "worker/data/example_store.h"

namespace weir {

/// Makes examples from their numbers: what is stored, passed through the maps in their order.
/// One thread at a time, for the sake of the functions' state.
class ExampleReader {
 public:
  ExampleReader(std::shared_ptr<const ExampleStore> store, std::vector<MapFunction> maps)
      : store_(std::move(store)), maps_(std::move(maps)) {}

  std::size_t features() const { return store_->features(); }
  /// Writes example `index`'s features to `features` (features() of them); returns its label.
  absl::StatusOr<std::int32_t> Read(std::uint32_t index, std::span<float> features) const {
    std::int32_t label = store_->Read(index, features);
    for (const MapFunction& map : maps_) {
      if (absl::Status status = map(features, label); !status.ok()) return status;
    }
    return label;
  }

 private:
  std::shared_ptr<const ExampleStore> store_;
  std::vector<MapFunction> maps_;
};

}  // namespace weir
