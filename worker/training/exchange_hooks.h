#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "weir/model.h"
#include "worker/client/data_client.h"
#include "worker/training/phase_times.h"

namespace weir {

/// A client's step under way as the hooks of the model that computes it, with the time that they
/// take.
class ExchangeHooks final : public StepHooks {
 public:
  /// Borrows both. Their time is added to `times`' pull and push.
  ExchangeHooks(DataClient& client, PhaseTimes& times) : client_(client), times_(times) {}

  absl::Status AwaitWeights(std::size_t tensor) override {
    const absl::Time start = MonotonicNow();
    const absl::Status status = client_.AwaitTensor(tensor);
    times_.pull += MonotonicNow() - start;
    return status;
  }
  absl::Status GradientReady(std::size_t tensor) override {
    const absl::Time start = MonotonicNow();
    if (first_gradient_ == absl::InfiniteFuture()) first_gradient_ = start;
    const absl::Status status = client_.PushTensor(tensor);
    times_.push += MonotonicNow() - start;
    return status;
  }

  /// When the step's first gradient was final; infinite before.
  absl::Time first_gradient() const { return first_gradient_; }

 private:
  DataClient& client_;
  PhaseTimes& times_;
  absl::Time first_gradient_ = absl::InfiniteFuture();
};

}  // namespace weir
