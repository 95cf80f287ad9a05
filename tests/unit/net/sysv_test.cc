// Memory in SysV segments, and what is mapped of it: by processes that end, in IPC namespaces of
// their own, and with keys that are wrong.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/net/sysv/mapped_memory.h"
#include "common/net/sysv/segment.h"
#include "common/net/sysv/segment_key.h"
#include "common/net/sysv/shared_memory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::net {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBytes = 100'000;

std::unique_ptr<Memory> Allocated(std::size_t bytes = kBytes) {
  auto memory = SysvMemory::Create(bytes);
  if (!memory.ok()) ADD_FAILURE() << memory.status();
  return memory.ok() ? *std::move(memory) : nullptr;
}

std::unique_ptr<MappedMemory> Mapped(const std::string& key, std::size_t bytes = kBytes) {
  auto memory = SysvMappedMemory::Create(key, bytes, "ps 3");
  if (!memory.ok()) ADD_FAILURE() << memory.status();
  return memory.ok() ? *std::move(memory) : nullptr;
}

absl::Status WhyNotMapped(const std::string& key, std::size_t bytes = kBytes) {
  return SysvMappedMemory::Create(key, bytes, "ps 3").status();
}

void Fill(MutableByteSpan bytes, int value) {
  std::ranges::fill(bytes, static_cast<std::byte>(value));
}

bool AllAre(MutableByteSpan bytes, int value) {
  return std::ranges::all_of(bytes,
                             [&](std::byte byte) { return byte == static_cast<std::byte>(value); });
}

/// A process that writes `say`'s text and stays, with its memory, until Kill.
class Process {
 public:
  explicit Process(const std::function<std::string()>& say) {
    int pipe_fds[2];
    if (pipe(pipe_fds) != 0) abort();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const std::string text = say();
      if (write(pipe_fds[1], text.data(), text.size()) < 0) _exit(1);
      close(pipe_fds[1]);
      while (true) pause();
    }
    close(pipe_fds[1]);
    char buffer[4096];
    for (ssize_t got = 0; (got = read(pipe_fds[0], buffer, sizeof(buffer))) > 0;) {
      text_.append(buffer, static_cast<std::size_t>(got));
    }
    close(pipe_fds[0]);
  }
  ~Process() { Kill(); }
  void Kill() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
  const std::string& text() const { return text_; }

 private:
  pid_t pid_ = 0;
  std::string text_;
};

TEST(SysvMemoryTest, IsOneForAllWhoMapIt) {
  const auto memory = Allocated();
  ASSERT_EQ(memory->bytes().size(), kBytes);
  EXPECT_TRUE(AllAre(memory->bytes(), 0));
  const auto one = Mapped(memory->remote_key());
  const auto other = Mapped(memory->remote_key(), 10);
  Fill(memory->bytes(), 7);
  EXPECT_TRUE(AllAre(one->bytes(), 7));
  EXPECT_EQ(other->bytes().size(), 10U);
  other->bytes()[9] = std::byte{9};
  EXPECT_EQ(memory->bytes()[9], std::byte{9});
  EXPECT_NE(one->bytes().data(), memory->bytes().data());
}

TEST(SysvMemoryTest, OfAnySize) {
  for (const std::size_t bytes : {1, 63, 64, 65, 4095, 4096, 4097}) {
    const auto memory = Allocated(bytes);
    const auto mapped = Mapped(memory->remote_key(), bytes);
    Fill(mapped->bytes(), 3);
    EXPECT_TRUE(AllAre(memory->bytes(), 3)) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped->bytes().data()) % 64, 0U);
    Mapped(memory->remote_key(), bytes);  // the values did not spoil the mark
  }
  for (const std::size_t bytes : {std::size_t{0}, ~std::size_t{0}, ~std::size_t{0} - 100}) {
    EXPECT_EQ(SysvMemory::Create(bytes).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

// In bytes; 0: this process has no segment.
std::size_t LargestPageOfSegments() {
  std::ifstream maps("/proc/self/smaps");
  std::size_t largest = 0;
  bool segment = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("-") < line.find(" ")) segment = line.find("/SYSV") != std::string::npos;
    if (!segment || !line.starts_with("KernelPageSize:")) continue;
    largest = std::max(largest, std::size_t{std::stoul(line.substr(line.find(' ')))} * 1024);
  }
  return largest;
}

TEST(SysvMemoryTest, IsOfHugePagesWhereThereAreAny) {
  std::ifstream meminfo("/proc/meminfo");
  std::size_t free = 0;
  for (std::string word; meminfo >> word;) {
    if (word == "HugePages_Free:") meminfo >> free;
  }
  if (free == 0) GTEST_SKIP() << "no huge pages (sysctl vm.nr_hugepages)";
  const auto small = Allocated();
  EXPECT_EQ(LargestPageOfSegments(), 4096U);
  const auto memory = SysvMemory::Create(std::size_t{2} << 20);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_GT(LargestPageOfSegments(), 4096U);
}

TEST(SysvMemoryTest, MoreThanThereIsNamesTheLimit) {
  const absl::Status status = SysvMemory::Create(std::size_t{1} << 61).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ipcs -l shows the limits"));
}

TEST(SysvMemoryTest, IsTheUsersAlone) {
  const auto memory = Allocated();
  const int id = SegmentKey::Unpack(memory->remote_key())->id;
  shmid_ds facts{};
  ASSERT_EQ(shmctl(id, IPC_STAT, &facts), 0);
  EXPECT_EQ(facts.shm_perm.mode & 0777U, 0600U);
}

TEST(SysvMemoryTest, IsGoneWithTheLast) {
  auto memory = Allocated();
  const std::string key = memory->remote_key();
  auto mapped = Mapped(key);
  Fill(memory->bytes(), 5);
  memory.reset();
  EXPECT_TRUE(AllAre(mapped->bytes(), 5));
  EXPECT_TRUE(AllAre(Mapped(key)->bytes(), 5));
  mapped.reset();
  const absl::Status status = WhyNotMapped(key);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("mapping memory of ps 3"));
}

// UCX 1.13 detached another mapping here, which happened to have the place that it looked in.
TEST(SysvMemoryTest, AKeyWhoseProcessWasKilledTouchesNoOther) {
  Process doomed([] {
    static auto memory = Allocated();  // until the process ends
    return memory->remote_key();
  });
  const auto memory = Allocated();
  Fill(memory->bytes(), 1);
  auto first = Mapped(memory->remote_key());
  auto second = Mapped(doomed.text());
  second.reset();
  const auto third = Mapped(memory->remote_key());
  doomed.Kill();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(WhyNotMapped(doomed.text()).code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(AllAre(first->bytes(), 1));
    EXPECT_TRUE(AllAre(third->bytes(), 1));
  }
  first.reset();
  EXPECT_TRUE(AllAre(third->bytes(), 1));
}

TEST(SysvMemoryTest, OutlivesItsKilledProcessForThoseWhoHaveIt) {
  Process doomed([] {
    static auto memory = Allocated();
    Fill(memory->bytes(), 4);
    return memory->remote_key();
  });
  const auto mapped = Mapped(doomed.text());
  doomed.Kill();
  EXPECT_TRUE(AllAre(mapped->bytes(), 4));
}

TEST(SysvMemoryTest, AnIdOfAnotherNamespaceNamesNothingHere) {
  Process apart([]() -> std::string {
    if (unshare(CLONE_NEWUSER | CLONE_NEWIPC) != 0 && unshare(CLONE_NEWIPC) != 0) return {};
    static auto memory = Allocated();
    return memory->remote_key();
  });
  if (apart.text().empty()) GTEST_SKIP() << "no IPC namespace can be made here";
  EXPECT_EQ(WhyNotMapped(apart.text()).code(), absl::StatusCode::kUnavailable);
  // Nor where the same number names a segment of ours.
  const auto memory = Allocated();
  SegmentKey theirs = *SegmentKey::Unpack(apart.text());
  theirs.id = SegmentKey::Unpack(memory->remote_key())->id;
  const absl::Status status = WhyNotMapped(theirs.Pack());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is another one: it is on another host"));
}

TEST(SysvMemoryTest, ASegmentThatIsNoneOfOursIsLeftAlone) {
  for (const std::size_t bytes : {std::size_t{8}, SegmentBytes(8), kBytes}) {
    const auto segment = Segment::Create(bytes);
    ASSERT_TRUE(segment.ok()) << segment.status();
    SegmentKey key{.id = segment->id(), .bytes = 8, .mark = {1, 2}};
    EXPECT_EQ(WhyNotMapped(key.Pack(), 8).code(), absl::StatusCode::kUnavailable);
    key.mark = {};  // its own
    EXPECT_EQ(WhyNotMapped(key.Pack(), 8).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(SysvMemoryTest, KeysThatLieAreRefused) {
  const auto memory = Allocated();
  const std::string key = memory->remote_key();
  const auto refused = [](const std::string& packed, std::size_t bytes) {
    return WhyNotMapped(packed, bytes).code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused(key, 0));
  EXPECT_TRUE(refused(key, kBytes + 1));
  for (const std::string& bad : {std::string(), key.substr(1), key + "x", std::string(40, 'x')}) {
    EXPECT_TRUE(refused(bad, kBytes)) << bad;
  }
  // Longer or shorter than the segment is.
  for (const std::uint64_t bytes :
       {kBytes + 64, kBytes - 64, ~std::size_t{0} - 200, ~std::size_t{0}}) {
    SegmentKey lie = *SegmentKey::Unpack(key);
    lie.bytes = bytes;
    EXPECT_TRUE(refused(lie.Pack(), 10)) << bytes;
  }
  for (const int id : {-1, -2'000'000'000}) {
    SegmentKey lie = *SegmentKey::Unpack(key);
    lie.id = id;
    EXPECT_TRUE(refused(lie.Pack(), 10)) << id;
  }
}

TEST(SysvMemoryTest, ALimitOfItsNamespaceIsNamed) {
  Process small([]() -> std::string {
    if (unshare(CLONE_NEWIPC) != 0) return {};
    std::ofstream limit("/proc/sys/kernel/shmmax");
    if (!(limit << 4096 << std::flush)) return {};
    return std::string(SysvMemory::Create(kBytes).status().message());
  });
  if (small.text().empty()) GTEST_SKIP() << "no IPC namespace with limits of its own here";
  EXPECT_THAT(small.text(), HasSubstr("more than kernel.shmmax"));
}

}  // namespace
}  // namespace weir::net
