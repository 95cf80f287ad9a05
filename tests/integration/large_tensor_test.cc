// One tensor of 3 GiB: every count of its bytes is beyond 32 bits.
#include <filesystem>
#include <fstream>
#include <string>

#include "common/base/clock.h"
#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"

namespace weir::testing {
namespace {

constexpr WorkerIndex kWorker(0);
constexpr std::int64_t kElements = (std::int64_t{3} << 30) / 4;
static_assert(kElements < std::int64_t{1} << 32);
// The shard's, the client's, and room for others.
constexpr std::uint64_t kNeededKib = std::uint64_t{8} << 20;

// MemAvailable of /proc/meminfo; 0 where it cannot be read.
std::uint64_t AvailableKib() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  for (std::string unit; meminfo >> key >> kib; std::getline(meminfo, unit)) {
    if (key == "MemAvailable:") return kib;
  }
  return 0;
}

std::uint64_t SharedMemoryRoomKib() {
  std::error_code error;
  const auto space = std::filesystem::space("/dev/shm", error);
  return error ? 0 : space.available / 1024;
}

// Another for each neighbour and each block; quick, since 800 million are wanted.
float GradientAt(std::uint32_t element) {
  return static_cast<float>(((element * 2'654'435'761U) >> 16U) + 1);
}

class LargeTensorTest : public ::testing::TestWithParam<Fabric> {};

TEST_P(LargeTensorTest, IsPushedAndPulledWhole) {
  if (AvailableKib() < kNeededKib) {
    GTEST_SKIP() << "needs 8 GiB of free memory; there are " << AvailableKib() / 1024 << " MiB";
  }
  if (GetParam() == Fabric::kUcxShmMapped && SharedMemoryRoomKib() < kNeededKib) {
    GTEST_SKIP() << "needs 8 GiB in /dev/shm; there are " << SharedMemoryRoomKib() / 1024 << " MiB";
  }
  Within(absl::Seconds(240), [] {
    const auto timed = [](const char* what, const std::function<absl::Status()>& work) {
      const absl::Time start = MonotonicNow();
      ASSERT_EQ(work(), absl::OkStatus()) << what;
      std::printf("%s: %.2f s\n", what, absl::ToDoubleSeconds(MonotonicNow() - start));
    };
    DataPlane plane(*Layout::Create({Tensor("large", {kElements})}, 1),
                    {.fabric = GetParam(), .learning_rate = 1.0F});
    plane.Join(kWorker);
    DataClientOptions options = plane.OptionsOf(kWorker);
    options.request_deadline = absl::Seconds(120);
    const auto client = *plane.TryConnect(options, plane.connector());
    auto buffer = client->AllocateParameters();
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    const std::span<float> values = buffer->tensor(0);
    ASSERT_EQ(values.size(), static_cast<std::size_t>(kElements));
    for (std::uint32_t i = 0; i < kElements; ++i) values[i] = -GradientAt(i);
    timed("push", [&] { return client->Push(*buffer, Step(1)); });
    timed("pull", [&] { return client->Pull(*buffer); });
    std::int64_t wrong = 0;
    for (std::uint32_t i = 0; i < kElements; ++i) wrong += values[i] != GradientAt(i);
    EXPECT_EQ(wrong, 0);
  });
}

INSTANTIATE_TEST_SUITE_P(On, LargeTensorTest,
                         ::testing::Values(Fabric::kLoopback, Fabric::kUcxTcp,
                                           Fabric::kUcxShmMapped),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::testing
