#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "common/model/initializer.h"
#include "weir/nn/sequential.h"

namespace weir::nn {

/// A compiled net with weights, gradients and one batch of random examples.
struct NetFixture {
  NetFixture(const Sequential& net, int batch, int classes, std::int64_t features_per_example)
      : tensors(net.tensors()), model(net.Compile(batch).value()) {
    std::mt19937 random(11);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (const TensorSpec& tensor : tensors) {
      weights.emplace_back(static_cast<std::size_t>(tensor.elements()));
      InitializeTensor(tensor, 5, 0, weights.back());
      for (float& w : weights.back()) w += 0.05F * uniform(random);  // biases, too
      gradients.emplace_back(weights.back().size(), -99.0F);
    }
    features.resize(static_cast<std::size_t>(batch * features_per_example));
    for (float& f : features) f = uniform(random);
    for (int i = 0; i < batch; ++i) labels.push_back(static_cast<std::int32_t>(random() % classes));
    for (auto& w : weights) weight_views.emplace_back(w);
    for (auto& g : gradients) gradient_views.emplace_back(g);
  }

  Batch batch() const { return {static_cast<int>(labels.size()), features, labels}; }
  /// Examples [first, first + size).
  Batch batch(int first, int size) const {
    const std::size_t each = features.size() / labels.size();
    return {size, std::span(features).subspan(first * each, size * each),
            std::span(labels).subspan(first, size)};
  }
  float TrainStep() { return model->TrainStep(batch(), weight_views, gradient_views).value(); }
  double Loss() { return model->Evaluate(batch(), weight_views).value().loss_sum / labels.size(); }

  std::vector<TensorSpec> tensors;
  std::unique_ptr<Model> model;
  std::vector<std::vector<float>> weights, gradients;
  std::vector<std::span<const float>> weight_views;
  std::vector<std::span<float>> gradient_views;
  std::vector<float> features;
  std::vector<std::int32_t> labels;
};

}  // namespace weir::nn
