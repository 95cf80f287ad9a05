// Checkpoints that are taken while workers push: files as the manifest parts say, and each block of
// one version.
#include <atomic>
#include <cmath>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/shard_plan.h"
#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"

namespace weir::testing {
namespace {

constexpr int kShards = 2;
constexpr int kWorkers = 2;
constexpr float kLearningRate = 1.0F / 8;

// Each push adds this to the element: after v of them a block's elements are v times these.
float IncrementAt(std::size_t element) { return static_cast<float>(element % 7 + 1); }

Layout TestLayout() {
  return *Layout::Create(
      {Tensor("big", {3, 60000}), Tensor("odd", {101}), Tensor("scalar", {}), Tensor("none", {0})},
      kShards);
}

class CheckpointTest : public ::testing::TestWithParam<Fabric> {
 protected:
  CheckpointTest()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                absl::StrCat("weir-cut-", RandomId())),
        plane_(TestLayout(), {.fabric = GetParam(), .learning_rate = kLearningRate}) {
    std::filesystem::create_directory(folder_);
    for (std::uint16_t w = 0; w < kWorkers; ++w) plane_.Join(WorkerIndex(w));
  }
  ~CheckpointTest() override { std::filesystem::remove_all(folder_); }

  std::string PathOf(std::uint32_t id) const { return folder_ / absl::StrCat("step-0000000", id); }

  /// Pushes until told to stop; its number of pushes.
  int Push(std::uint16_t worker) {
    const auto client = plane_.Connect(WorkerIndex(worker));
    auto gradients = client->AllocateParameters();
    for (std::size_t t = 0; t < gradients->tensors(); ++t) {
      const std::span<float> values = gradients->tensor(t);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = -IncrementAt(i) / kLearningRate;
    }
    int pushes = 0;
    for (; !stop_; ++pushes) {
      const absl::Status pushed = client->Push(*gradients, Step(1));
      EXPECT_EQ(pushed, absl::OkStatus());
      if (!pushed.ok()) break;
      ++pushed_;
      pushed_.notify_all();
    }
    return pushes;
  }

  /// Takes a checkpoint of all shards, and commits what they report, as the chief does.
  void Take(std::uint32_t id) {
    for (int s = 0; s < kShards; ++s) plane_.server(s).TakeCheckpoint(id, PathOf(id));
    std::map<std::string, ManifestFile> files;
    ASSERT_TRUE(plane_.WaitForReport([&](const wire::MemberBodyUnion& body) {
      if (const auto* done = body.AsCheckpointDone(); done != nullptr && done->id == id) {
        EXPECT_TRUE(done->ok) << done->error;
        files[done->file] = FileOf(*done);
      }
      return files.size() == kShards;
    }));
    Manifest manifest;
    manifest.job = "test";
    manifest.step = Step(id);
    manifest.tensors.assign(plane_.layout().tensors().begin(), plane_.layout().tensors().end());
    manifest.shards = kShards;
    manifest.optimizer = "sgd";
    for (const auto& [name, file] : files) manifest.files.push_back(file);
    ASSERT_EQ(WriteManifest(PathOf(id), manifest), absl::OkStatus());
  }

  static ManifestFile FileOf(const wire::CheckpointDoneT& done) {
    ManifestFile file{.file = done.file, .bytes = done.file_bytes};
    for (const auto& entry : done.entries) {
      file.entries.push_back({.tensor = entry->tensor,
                              .offset = static_cast<std::int64_t>(entry->offset),
                              .elements = static_cast<std::int64_t>(entry->elements),
                              .checksum = entry->checksum});
    }
    file.worker_clocks = done.worker_clocks;
    return file;
  }

  /// The version of each block, which all of its elements must agree on.
  std::vector<int> VersionsIn(std::uint32_t id) {
    auto reader = CheckpointReader::Open(PathOf(id));
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return {};
    EXPECT_EQ(reader->VerifyAll(), absl::OkStatus());
    EXPECT_EQ(reader->Check(plane_.layout().tensors()), absl::OkStatus());
    std::vector<int> versions;
    for (const Block& block : plane_.layout().blocks()) {
      std::vector<float> values(static_cast<std::size_t>(block.elements));
      EXPECT_EQ(reader->ReadRange(block.tensor, block.offset, values), absl::OkStatus());
      const auto first = static_cast<std::size_t>(block.offset);
      const float version = values[0] / IncrementAt(first);
      EXPECT_EQ(version, std::floor(version)) << "block " << block.id;
      std::size_t torn = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        torn += values[i] != version * IncrementAt(first + i);
      }
      EXPECT_EQ(torn, 0U) << "block " << block.id << " at version " << version;
      versions.push_back(static_cast<int>(version));
    }
    return versions;
  }

  const std::filesystem::path folder_;
  DataPlane plane_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> pushed_ = 0;
};

TEST_P(CheckpointTest, EachBlockIsOfOneVersionWhilePushesGoOn) {
  constexpr std::uint32_t kCheckpoints = 4;
  std::vector<std::future<int>> workers;
  for (std::uint16_t w = 0; w < kWorkers; ++w) {
    workers.push_back(std::async(std::launch::async, [this, w] { return Push(w); }));
  }
  Within(absl::Seconds(60), [this] {
    for (std::uint32_t id = 1; id <= kCheckpoints; ++id) {
      const int before = pushed_;
      Take(id);
      pushed_.wait(before);  // they do go on
    }
  });
  stop_ = true;
  int pushes = 0;
  for (auto& worker : workers) pushes += Await(worker);
  Take(kCheckpoints + 1);

  std::vector<int> last(plane_.layout().blocks().size());
  for (std::uint32_t id = 1; id <= kCheckpoints + 1; ++id) {
    const std::vector<int> versions = VersionsIn(id);
    ASSERT_EQ(versions.size(), last.size());
    for (std::size_t b = 0; b < last.size(); ++b) EXPECT_GE(versions[b], last[b]) << "went back";
    last = versions;
  }
  EXPECT_EQ(last, std::vector<int>(last.size(), pushes))
      << "every acknowledged push is in the last";
}

TEST_P(CheckpointTest, AFolderThatCannotBeMadeIsReported) {
  plane_.server(0).TakeCheckpoint(9, folder_ / "not" / "there");
  std::string error;
  EXPECT_TRUE(plane_.WaitForReport([&](const wire::MemberBodyUnion& body) {
    const auto* done = body.AsCheckpointDone();
    if (done == nullptr) return false;
    EXPECT_FALSE(done->ok);
    error = done->error;
    return done->id == 9;
  }));
  EXPECT_NE(error.find("not/there"), std::string::npos) << error;
  Take(1);  // and the next one is written
  EXPECT_EQ(VersionsIn(1), std::vector<int>(plane_.layout().blocks().size(), 0));
}

INSTANTIATE_TEST_SUITE_P(On, CheckpointTest, ::testing::ValuesIn(kFabrics),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::testing
