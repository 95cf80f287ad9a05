// Refers to every function of the public headers: one that libweir.map forgets does not link.
#include <weir/client.h>
#include <weir/dataset.h>
#include <weir/exit_code.h>
#include <weir/job.h>
#include <weir/model.h>
#include <weir/nn/sequential.h>
#include <weir/tensor_spec.h>
#include <weir/train_and_evaluate.h>

#include <cstdio>
#include <utility>

namespace {

int used = 0;

template <typename Function>
void Use(Function function) {
  used += function != nullptr ? 1 : 0;
}

class HalfModel : public weir::Model {};

void UseClient() {
  using weir::Client;
  using weir::Parameters;
  Use(&Client::Connect);
  Use(&Client::AllocateParameters);
  Use(&Client::Pull);
  Use(&Client::NextStep);
  Use(&Client::Push);
  Use(&Client::Clock);
  Use(&Client::GlobalStep);
  Use(&Client::ReportLoss);
  Use(&Client::Finish);
  Use(&Parameters::size);
  Use<std::span<float> (Parameters::*)(std::size_t)>(&Parameters::operator[]);
  Use<std::span<const float> (Parameters::*)(std::size_t) const>(&Parameters::operator[]);
  Use(&Parameters::Named);
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect({});
  if (client.ok()) {
    Parameters weights = *(*client)->AllocateParameters();
    Parameters moved(std::move(weights));
    weights = std::move(moved);
  }
}

void UseDataset() {
  using weir::Dataset;
  Use(&Dataset::FromIdx);
  Use(&Dataset::FromVectors);
  Use<Dataset (Dataset::*)(weir::MapFunction) const>(&Dataset::Map);
  Use(&Dataset::Filter);
  Use(&Dataset::Shuffle);
  Use(&Dataset::Repeat);
  Use(&Dataset::Shard);
  Use(&Dataset::Batch);
  Use(&Dataset::Prefetch);
  Use(&Dataset::CreateIterator);
  Use(&Dataset::status);
  Use(&Dataset::size);
  Use(&Dataset::feature_shape);
}

void UseNet() {
  using weir::nn::Sequential;
  Sequential net({4});
  Sequential copy(net);
  copy = net;
  Sequential moved(std::move(copy));
  moved = std::move(net);
  Use(&Sequential::Add);
  Use(&Sequential::Compile);
  Use(&Sequential::status);
  Use(&Sequential::tensors);
  Use(&Sequential::output_shape);
}

}  // namespace

int main() {
  Use(&weir::WithExitCode);
  Use(&weir::ExitCodeOf);
  Use(&weir::ValidateTensors);
  Use(&weir::TensorSpec::elements);
  Use(&weir::TrainAndEvaluate);
  Use(&HalfModel::TrainStepWith);
  UseClient();
  UseDataset();
  UseNet();
  std::printf("%d functions\n", used);
}
