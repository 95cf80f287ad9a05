// What a whole training allocates, in every thread of the process: the worker's, its data's and the
// parameter servers'.
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "common/model/initializer.h"
#include "gtest/gtest.h"
#include "jobs/registry.h"
#include "tests/integration/data_plane.h"
#include "tests/support/thread_allocations.h"
#include "worker/training/trainer.h"

namespace weir::testing {
namespace {

InputContext Input() {
  const char* folder = std::getenv("WEIR_DATA");
  return {.data_dir = folder != nullptr ? folder : "/usr/share/datasets/fashion-mnist",
          .batch_size = 256,
          .seed = 7};
}

class TrainingAllocationTest : public ::testing::TestWithParam<Fabric> {};

TEST_P(TrainingAllocationTest, NoThreadAllocatesInSteps101To200) {
  if (!std::filesystem::exists(Input().data_dir)) {
    GTEST_SKIP() << "needs Fashion-MNIST in " << Input().data_dir
                 << " (Debian's dataset-fashion-mnist, or WEIR_DATA)";
  }
  const auto job = std::move(CreateJob("fashion-mnist")->job);
  const auto layout = Layout::Create(job->tensors(), 2);
  ASSERT_TRUE(layout.ok()) << layout.status();
  DataPlane plane(*layout, {.fabric = GetParam(),
                            .max_steps = Step(201),
                            .notify_steps = 1000,
                            .loader = [&](const Block& block, std::span<float> values) {
                              InitializeTensor(layout->tensors()[block.tensor], 7, block.offset,
                                               values);
                              return absl::OkStatus();
                            }});
  plane.Join(WorkerIndex(0));

  AllocationCounts after_100{}, after_200{};
  Within(absl::Seconds(200), [&] {
    const auto client = plane.Connect(WorkerIndex(0));
    const auto batches = (*job->TrainingData(Input())).CreateIterator();
    const auto model = job->CreateModel(Input().batch_size);
    auto weights = client->AllocateParameters();
    auto gradients = client->AllocateParameters();
    const auto result = Train({.log_every = 100,
                               .log =
                                   [&](const TrainingLine& line) {
                                     if (line.step == Step(100)) after_100 = AllocationsByThread();
                                     if (line.step == Step(200)) after_200 = AllocationsByThread();
                                   }},
                              *client, **model, **batches, *weights, *gradients);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->steps, 201U);
  });

  int threads = 0;
  for (std::size_t i = 0; i < after_100.size(); ++i) {
    threads += after_100[i] > 0 ? 1 : 0;
    EXPECT_EQ(after_200[i] - after_100[i], 0) << "in thread " << i;
  }
  EXPECT_GE(threads, 4) << "the worker's, its data's and two parameter servers' at least";
}

INSTANTIATE_TEST_SUITE_P(On, TrainingAllocationTest,
                         ::testing::Values(Fabric::kUcxTcp, Fabric::kUcxShm),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::testing
