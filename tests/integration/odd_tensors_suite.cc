#include "tests/integration/odd_tensors_suite.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/manifest.h"

namespace weir::testing {
namespace {

constexpr WorkerIndex kWorker(0);

std::vector<TensorSpec> OddTensors() {
  return {
      Tensor("none", {0}),
      Tensor("none of three dimensions", {3, 0, 5}),
      Tensor("scalar", {}),
      Tensor("one", {1}),
      Tensor("prime", {7919}),
      Tensor("a block less one", {kMaxBlockElements - 1}),
      Tensor("a block and one", {kMaxBlockElements + 1}),
      Tensor("two blocks and three", {2 * kMaxBlockElements + 3}),
      Tensor(" spaces  around ", {3}),
      Tensor("ärmel/каша/権重 🙂", {5}),
      Tensor("e\u0301 is not \u00e9", {1}),
      Tensor("é is not é", {1}),
      Tensor("\"quoted\" \\ 'and' {\"a\":1}", {2}),
      Tensor("two\nlines\tand a tab\x01", {2}),
      Tensor("%s%n $(name) ../..", {2}),
  };
}

std::vector<TensorSpec> ManyTensors() {
  std::vector<TensorSpec> tensors;
  const int many = OddTensorsTest::GetParam().many;
  for (int i = 0; i < many; ++i) tensors.push_back(Tensor(absl::StrCat("t", i), {16}));
  return tensors;
}

// Of every element another, and small enough for sums to be exact.
float GradientAt(std::size_t tensor, std::size_t element) {
  return static_cast<float>((tensor * 31 + element) % 1021 + 1);
}

// A data plane with learning rate 1, and the worker in its view.
std::unique_ptr<DataPlane> PlaneOf(Layout layout, ps::BlockLoader loader = {}) {
  auto plane = std::make_unique<DataPlane>(
      std::move(layout), DataPlaneOptions{.fabric = OddTensorsTest::GetParam().fabric,
                                          .learning_rate = 1.0F,
                                          .loader = std::move(loader)});
  plane->Join(kWorker);
  return plane;
}

void FillGradients(ParameterBuffer& gradients) {
  for (std::size_t t = 0; t < gradients.tensors(); ++t) {
    const std::span<float> values = gradients.tensor(t);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = -GradientAt(t, i);
  }
}

// Elements that are not those of `pushes` pushes.
std::size_t Wrong(ParameterBuffer& weights, float pushes) {
  std::size_t wrong = 0;
  for (std::size_t t = 0; t < weights.tensors(); ++t) {
    const std::span<float> values = weights.tensor(t);
    for (std::size_t i = 0; i < values.size(); ++i) wrong += values[i] != pushes * GradientAt(t, i);
  }
  return wrong;
}

void ExpectWeights(DataClient& client, float pushes) {
  auto weights = client.AllocateParameters();
  ASSERT_TRUE(weights.ok()) << weights.status();
  ASSERT_EQ(client.Pull(*weights), absl::OkStatus());
  EXPECT_EQ(Wrong(*weights, pushes), 0U);
}

// A step of one push, tensor by tensor: also those that have no element are said to be ready.
void StepTensorByTensor(DataClient& client, ParameterBuffer& weights, ParameterBuffer& gradients) {
  ASSERT_EQ(client.BeginStep(std::nullopt, weights, gradients).status(), absl::OkStatus());
  for (std::size_t t = gradients.tensors(); t-- > 0;) {
    ASSERT_EQ(client.AwaitTensor(t), absl::OkStatus()) << t;
    ASSERT_EQ(client.PushTensor(t), absl::OkStatus()) << t;
  }
  ASSERT_EQ(client.FinishStep(), absl::OkStatus());
}

// A checkpoint in a folder of its own.
class Checkpoint {
 public:
  Checkpoint() { std::filesystem::create_directories(root_); }
  ~Checkpoint() { std::filesystem::remove_all(root_); }
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  // Every shard's file, and the manifest over them.
  void Take(DataPlane& plane) const {
    const int shards = plane.layout().shards();
    for (int s = 0; s < shards; ++s) plane.server(s).TakeCheckpoint(1, folder_);
    Manifest manifest{.job = "odd", .step = Step(1), .shards = shards, .optimizer = "sgd"};
    std::map<std::string, ManifestFile> files;
    ASSERT_TRUE(plane.WaitForReport([&](const wire::MemberBodyUnion& body) {
      const auto* done = body.AsCheckpointDone();
      if (done == nullptr) return false;
      EXPECT_TRUE(done->ok) << done->error;
      ManifestFile file{.file = done->file, .bytes = done->file_bytes};
      for (const auto& entry : done->entries) {
        file.entries.push_back({.tensor = entry->tensor,
                                .offset = static_cast<std::int64_t>(entry->offset),
                                .elements = static_cast<std::int64_t>(entry->elements),
                                .checksum = entry->checksum});
      }
      files[done->file] = std::move(file);
      return files.size() == static_cast<std::size_t>(shards);
    }));
    manifest.tensors.assign(plane.layout().tensors().begin(), plane.layout().tensors().end());
    for (auto& [name, file] : files) manifest.files.push_back(std::move(file));
    ASSERT_EQ(WriteManifest(folder_, manifest), absl::OkStatus());
  }

  absl::StatusOr<CheckpointReader> Open() const { return CheckpointReader::Open(folder_); }

 private:
  const std::filesystem::path root_ =
      std::filesystem::path(::testing::TempDir()) / absl::StrCat("weir-odd-", RandomId());
  const std::string folder_ = root_ / "step-00000001";
};

ps::BlockLoader LoaderOf(CheckpointReader& reader, const Layout& layout) {
  return [&reader, tensors = layout.tensors()](const Block& block, std::span<float> values) {
    return reader.ReadRange(tensors[block.tensor].name, block.offset, values);
  };
}

TEST_P(OddTensorsTest, EveryElementIsPushedPulledSavedAndRestored) {
  const Checkpoint checkpoint;
  Within(absl::Seconds(60), [&] {
    {
      const auto plane = PlaneOf(*Layout::Create(OddTensors(), 3));
      const auto client = plane->Connect(kWorker);
      auto gradients = client->AllocateParameters();
      auto weights = client->AllocateParameters();
      FillGradients(*gradients);
      ASSERT_EQ(client->Push(*gradients, Step(1)), absl::OkStatus());
      StepTensorByTensor(*client, *weights, *gradients);
      ExpectWeights(*client, 2);
      checkpoint.Take(*plane);
    }
    auto reader = checkpoint.Open();
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ(reader->VerifyAll(), absl::OkStatus());
    EXPECT_EQ(reader->Check(OddTensors()), absl::OkStatus());
    const Layout one = *Layout::Create(OddTensors(), 1);
    const auto restored = PlaneOf(one, LoaderOf(*reader, one));
    ExpectWeights(*restored->Connect(kWorker), 2);
  });
}

// Ten thousand biases (fewer where all is emulated): nothing may take a time that grows with their
// square. The limits are far above what it takes; the figures are in docs/performance.md.
TEST_P(OddTensorsTest, VeryManySmallTensorsAreNotSlow) {
  const Checkpoint checkpoint;
  Within(absl::Seconds(60), [&] {
    const auto timed = [](const char* what, const std::function<void()>& work) {
      const absl::Time start = MonotonicNow();
      work();
      const absl::Duration took = MonotonicNow() - start;
      EXPECT_LT(took, absl::Seconds(10)) << what;
      std::printf("%s: %.1f ms\n", what, absl::ToDoubleMilliseconds(took));
    };
    std::unique_ptr<DataPlane> plane;
    timed("2 shards", [&] { plane = PlaneOf(*Layout::Create(ManyTensors(), 2)); });
    DataPlane::ClientPtr client;
    timed("connect", [&] { client = plane->Connect(kWorker); });
    auto gradients = client->AllocateParameters();
    auto weights = client->AllocateParameters();
    FillGradients(*gradients);
    timed("push", [&] { ASSERT_EQ(client->Push(*gradients, Step(1)), absl::OkStatus()); });
    timed("pull", [&] { ASSERT_EQ(client->Pull(*weights), absl::OkStatus()); });
    EXPECT_EQ(Wrong(*weights, 1), 0U);
    timed("step, tensor by tensor", [&] { StepTensorByTensor(*client, *weights, *gradients); });
    ExpectWeights(*client, 2);
    timed("checkpoint", [&] { checkpoint.Take(*plane); });
    client.reset();
    timed("restore", [&] {
      auto reader = checkpoint.Open();
      ASSERT_TRUE(reader.ok()) << reader.status();
      const Layout three = *Layout::Create(ManyTensors(), 3);
      const auto restored = PlaneOf(three, LoaderOf(*reader, three));
      ExpectWeights(*restored->Connect(kWorker), 2);
    });
  });
}

}  // namespace
}  // namespace weir::testing
