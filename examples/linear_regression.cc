// Linear regression with weir::Client alone: a program with a model and data of its own. Start it
// as the workers of a cluster:
//   weir local --job linear_regression.json --ps 1 --workers 2 -- ./linear_regression
#include <weir/client.h>
#include <weir/exit_code.h>

#include <algorithm>
#include <iostream>
#include <random>

namespace {

constexpr float kTrueWeights[] = {2.0F, -3.0F, 0.5F};
constexpr float kTrueBias = 1.0F;
constexpr int kBatch = 64;

// The mean squared error over a fresh batch, and its gradients.
float Loss(std::mt19937& random, const weir::Parameters& weights, weir::Parameters& gradients) {
  std::uniform_real_distribution<float> feature(-1.0F, 1.0F);
  std::normal_distribution<float> noise(0.0F, 0.05F);
  std::fill(gradients[0].begin(), gradients[0].end(), 0.0F);
  gradients[1][0] = 0.0F;
  float loss = 0.0F;
  for (int i = 0; i < kBatch; ++i) {
    float x[3];
    float error = weights[1][0] - kTrueBias + noise(random);
    for (std::size_t f = 0; f < 3; ++f) {
      x[f] = feature(random);
      error += (weights[0][f] - kTrueWeights[f]) * x[f];
    }
    for (std::size_t f = 0; f < 3; ++f) gradients[0][f] += 2.0F * error * x[f] / kBatch;
    gradients[1][0] += 2.0F * error / kBatch;
    loss += error * error / kBatch;
  }
  return loss;
}

absl::Status Train() {
  auto connected = weir::Client::Connect(
      {.job = "linear-regression",
       .tensors = {{.name = "weights", .shape = {3}}, {.name = "bias", .shape = {1}}}});
  if (!connected.ok()) return connected.status();
  weir::Client& client = **connected;
  auto weights = client.AllocateParameters();
  auto gradients = client.AllocateParameters();
  if (!weights.ok()) return weights.status();
  if (!gradients.ok()) return gradients.status();

  std::mt19937 random(std::random_device{}());
  float first_loss = 0.0F, loss = 0.0F;
  while (true) {
    const auto step = client.NextStep(*weights);
    if (!step.ok()) return step.status();
    if (!step->has_value()) break;
    loss = Loss(random, *weights, *gradients);
    if (client.Clock() == 0) first_loss = loss;
    if (const absl::Status pushed = client.Push(*gradients); !pushed.ok()) return pushed;
    if (client.Clock() % 10 == 0) client.ReportLoss(loss);
  }
  if (const absl::Status pulled = client.Pull(*weights); !pulled.ok()) return pulled;
  const auto w = (*weights)[0];
  std::cout << client.Clock() << " steps, loss " << first_loss << " -> " << loss << ", weights "
            << w[0] << " " << w[1] << " " << w[2] << ", bias " << (*weights)[1][0] << std::endl;
  return client.Finish();
}

}  // namespace

int main() {
  const absl::Status status = Train();
  if (!status.ok()) std::cerr << status.message() << "\n";
  return static_cast<int>(weir::ExitCodeOf(status));
}
