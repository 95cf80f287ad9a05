// One tensor of 3 GiB: every count of its bytes is beyond 32 bits.
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "doctor/amounts.h"
#include "doctor/cgroup.h"
#include "doctor/host_files.h"
#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"

namespace weir::testing {
namespace {

constexpr WorkerIndex kWorker(0);
constexpr std::int64_t kElements = (std::int64_t{3} << 30) / 4;
static_assert(kElements < std::int64_t{1} << 32);
constexpr std::uint64_t kTensorBytes = kElements * sizeof(float);
// The shard's, the client's, and room for others.
constexpr std::uint64_t kNeededBytes = 8 * doctor::kGiB;
// The shard's and the client's, with headers and spare slots.
constexpr std::uint64_t kNeededSegment = kTensorBytes + doctor::kGiB / 4;

// What there is less of than is needed; empty where all suffices.
std::string Shortage(absl::string_view what, std::optional<std::uint64_t> room,
                     std::uint64_t needed) {
  if (!room.has_value() || *room >= needed) return "";
  return absl::StrCat("needs ", doctor::Bytes(needed), " of ", what, "; there are ",
                      doctor::Bytes(*room));
}

std::optional<std::uint64_t> AvailableMemory(const doctor::HostFiles& files) {
  const auto kib = doctor::NumberOf(files.Text("/proc/meminfo").value_or(""), "MemAvailable");
  return kib.has_value() ? std::optional(*kib * 1024) : std::nullopt;
}

// Page caches count as used, although they would give way: rather skipped than killed.
std::optional<std::uint64_t> RoomInControlGroup(const doctor::HostFiles& files) {
  const doctor::CgroupLimits limits = doctor::ReadCgroupLimits(files);
  if (!limits.memory_bytes.has_value()) return std::nullopt;
  return *limits.memory_bytes -
         std::min(*limits.memory_bytes, limits.memory_used_bytes.value_or(0));
}

// Of all segments together, without those that there are: kernel.shmall.
std::optional<std::uint64_t> RoomForSegments(const doctor::HostFiles& files) {
  const auto pages = doctor::Number(files.Text("/proc/sys/kernel/shmall").value_or(""));
  shm_info used{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as shmctl(2) has it.
  if (!pages.has_value() || shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&used)) < 0) {
    return std::nullopt;
  }
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t free = *pages - std::min<std::uint64_t>(*pages, used.shm_tot);
  return free > std::numeric_limits<std::uint64_t>::max() / page ? std::nullopt
                                                                 : std::optional(free * page);
}

// What this host lacks for the test; empty: nothing.
std::string Missing(Fabric fabric) {
  const doctor::HostFiles files;
  std::string missing = Shortage("free memory", AvailableMemory(files), kNeededBytes);
  if (missing.empty()) {
    missing = Shortage("memory left in the control group", RoomInControlGroup(files), kNeededBytes);
  }
  if (!missing.empty() || !IsMapped(fabric)) return missing;
  missing =
      Shortage("kernel.shmmax, a SysV segment's size",
               doctor::Number(files.Text("/proc/sys/kernel/shmmax").value_or("")), kNeededSegment);
  if (!missing.empty()) return missing;
  return Shortage("kernel.shmall, the size of all SysV segments", RoomForSegments(files),
                  2 * kNeededSegment);
}

// Another for each neighbour and each block; quick, since 800 million are wanted.
float GradientAt(std::uint32_t element) {
  return static_cast<float>(((element * 2'654'435'761U) >> 16U) + 1);
}

class LargeTensorTest : public ::testing::TestWithParam<Fabric> {};

TEST_P(LargeTensorTest, IsPushedAndPulledWhole) {
  if (const std::string missing = Missing(GetParam()); !missing.empty()) GTEST_SKIP() << missing;
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
