#include "worker/nn/softmax_loss.h"

#include <algorithm>
#include <cmath>

namespace weir::nn {
namespace {

// Writes exp(x - max x) to `powers` if it is wanted and returns the sum.
double SumOfPowers(std::span<const float> row, float max, std::span<float> powers) {
  double sum = 0;
  for (std::size_t c = 0; c < row.size(); ++c) {
    const float power = std::exp(row[c] - max);
    if (!powers.empty()) powers[c] = power;
    sum += power;
  }
  return sum;
}

}  // namespace

double SoftmaxCrossEntropy(std::span<const float> logits, std::span<const std::int32_t> labels,
                           std::span<float> gradient) {
  const std::size_t classes = logits.size() / labels.size();
  const double per_example = 1.0 / static_cast<double>(labels.size());
  double loss = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = logits.subspan(i * classes, classes);
    const auto label = static_cast<std::size_t>(labels[i]);
    const auto out = gradient.empty() ? gradient : gradient.subspan(i * classes, classes);
    const float max = *std::ranges::max_element(row);
    const double sum = SumOfPowers(row, max, out);
    loss += std::log(sum) - (static_cast<double>(row[label]) - max);
    if (out.empty()) continue;
    const auto scale = static_cast<float>(per_example / sum);
    for (float& value : out) value *= scale;
    out[label] -= static_cast<float>(per_example);
  }
  return loss;
}

std::int64_t CountCorrect(std::span<const float> logits, std::span<const std::int32_t> labels) {
  const std::size_t classes = logits.size() / labels.size();
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = logits.subspan(i * classes, classes);
    if (std::ranges::max_element(row) - row.begin() == labels[i]) ++correct;
  }
  return correct;
}

}  // namespace weir::nn
