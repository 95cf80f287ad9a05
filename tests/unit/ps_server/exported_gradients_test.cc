#include "ps_server/exported_gradients.h"

#include <algorithm>
#include <limits>
#include <string>

#include "common/net/loopback.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/ps_server/shard_fixture.h"

namespace weir::ps {
namespace {

using ::testing::HasSubstr;
using ::testing::IsNull;
using ::testing::NotNull;

constexpr std::uint64_t kSession = 17;
constexpr std::size_t kBytes = 400;

class ExportedGradientsTest : public ::testing::Test {
 protected:
  ExportedGradientsTest()
      : memory_(*worker_->Allocate(kBytes)), peer_(*ps_->Connect(worker_->address(), "worker 0")) {
    auto* bytes = memory_->bytes().data();
    for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::byte>(i);
  }

  const char* Announce(std::uint64_t name, std::uint64_t bytes = kBytes,
                       std::uint64_t session = kSession) {
    return Announce(name, bytes, session, memory_->remote_key());
  }
  const char* Announce(std::uint64_t name, std::uint64_t bytes, std::uint64_t session,
                       const std::string& key) {
    return gradients_.Announce(
        peer_,
        wire::ExportMemory(session, name, bytes, static_cast<std::uint8_t>(access_), 0, 0, 0),
        std::as_bytes(std::span(key)));
  }
  /// The end of what was announced.
  ExportedGradients::Outcome Finish() {
    while (!gradients_.idle()) {
      if (const auto outcome = gradients_.Work()) return *outcome;
    }
    ADD_FAILURE() << "nothing has ended";
    return {};
  }
  void Map(std::uint64_t name) {
    ASSERT_THAT(Announce(name), IsNull());
    const auto outcome = Finish();
    EXPECT_EQ(outcome.session, kSession);
    EXPECT_EQ(outcome.memory, name);
    EXPECT_EQ(outcome.status, absl::OkStatus());
  }
  ExportedGradients::Gradient Find(std::uint64_t name, std::uint64_t offset, std::size_t bytes,
                                   std::uint64_t session = kSession) {
    return gradients_.Find(session, wire::GradientPlace(name, offset), bytes);
  }

  const Layout layout_ = MakeLayout({100}, 1);
  const std::shared_ptr<net::LoopbackFabric> fabric_ = net::LoopbackFabric::Create();
  const std::unique_ptr<net::Transport> ps_ = fabric_->CreateTransport();
  const std::unique_ptr<net::Transport> worker_ = fabric_->CreateTransport();
  std::unique_ptr<net::Memory> memory_;
  const net::PeerId peer_;
  wire::MemoryAccess access_ = wire::MemoryAccess::Map;  // of what is announced
  ExportedGradients gradients_{layout_, *ps_};
};

TEST_F(ExportedGradientsTest, FindsWhatAWorkerSaysWhereverItLies) {
  Map(5);
  for (const auto& [offset, bytes] : {std::pair{0, 400}, {4, 396}, {396, 4}, {400, 0}, {8, 16}}) {
    const auto gradient = Find(5, static_cast<std::uint64_t>(offset), bytes);
    ASSERT_THAT(gradient.wrong, IsNull()) << offset;
    EXPECT_TRUE(std::ranges::equal(
        gradient.mapped,
        ByteSpan(memory_->bytes()).subspan(offset, static_cast<std::size_t>(bytes))));
  }
}

TEST_F(ExportedGradientsTest, FindsNothingThatIsNotThere) {
  Map(5);
  constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(Find(6, 0, 4).wrong, HasSubstr("not mapped"));
  EXPECT_THAT(Find(0, 0, 4).wrong, HasSubstr("not mapped"));  // the name of an empty place
  EXPECT_THAT(Find(5, 0, 4, kSession + 1).wrong, HasSubstr("not mapped"));
  EXPECT_THAT(Find(5, 2, 4).wrong, HasSubstr("an odd place"));
  for (const auto& [offset, bytes] : {std::pair<std::uint64_t, std::size_t>{0, 404},
                                      {4, 400},
                                      {400, 4},
                                      {404, 0},
                                      {kEnd - 3, 4},
                                      {kEnd - 3, 400}}) {
    EXPECT_THAT(Find(5, offset, bytes).wrong, HasSubstr("beyond the end")) << offset;
  }
}

// The same of memory that is only read from afar.
TEST_F(ExportedGradientsTest, SaysWhereToReadWhatIsNotMapped) {
  access_ = wire::MemoryAccess::Read;
  Map(5);
  const auto gradient = Find(5, 4, 396);
  ASSERT_THAT(gradient.wrong, IsNull());
  ASSERT_THAT(gradient.remote, NotNull());
  EXPECT_EQ(gradient.remote->size(), kBytes);
  EXPECT_EQ(gradient.offset, 4U);
  EXPECT_TRUE(gradient.mapped.empty());
  EXPECT_THAT(Find(5, 2, 4).wrong, HasSubstr("an odd place"));
  EXPECT_THAT(Find(5, 4, 400).wrong, HasSubstr("beyond the end"));
  ASSERT_THAT(Announce(6, kBytes + 1), IsNull());
  EXPECT_FALSE(Finish().status.ok()) << "it is shorter";
  access_ = static_cast<wire::MemoryAccess>(2);
  EXPECT_THAT(Announce(7), HasSubstr("for a use that there is not"));
}

TEST_F(ExportedGradientsTest, IsNotFoundBeforeItsWorkerWasTold) {
  ASSERT_THAT(Announce(5), IsNull());
  EXPECT_THAT(Find(5, 0, 4).wrong, NotNull());
}

TEST_F(ExportedGradientsTest, RefusesAnnouncementsThatNoCorrectWorkerMakes) {
  EXPECT_THAT(Announce(0), HasSubstr("without a name"));
  EXPECT_THAT(Announce(5, 0), HasSubstr("empty"));
  // The model's 400 bytes, and what may lie between tensors.
  EXPECT_THAT(Announce(5, 400 + 2 * 64 + 1), HasSubstr("larger than a gradient"));
  EXPECT_TRUE(gradients_.idle());
  ASSERT_THAT(Announce(5), IsNull());
  EXPECT_THAT(Announce(6), HasSubstr("before it was told"));
  EXPECT_THAT(Announce(6, kBytes, kSession + 1), IsNull()) << "another worker's";
  EXPECT_EQ(Finish().memory, 5U);
  EXPECT_EQ(Finish().memory, 6U);
  EXPECT_THAT(Announce(5), HasSubstr("a second time"));
}

// The key is the worker's word, too.
TEST_F(ExportedGradientsTest, SaysSoOfMemoryThatCannotBeMapped) {
  ASSERT_THAT(Announce(5, kBytes, kSession, "nonsense"), IsNull());
  EXPECT_FALSE(Finish().status.ok());
  ASSERT_THAT(Announce(6, kBytes + 1), IsNull());
  EXPECT_FALSE(Finish().status.ok()) << "it is shorter";
  EXPECT_TRUE(gradients_.idle());
  EXPECT_THAT(Find(5, 0, 4).wrong, NotNull());
  EXPECT_FALSE(gradients_.TrySample(peer_, "nonsense", kBytes).ok());
  EXPECT_EQ(gradients_.TrySample(peer_, memory_->remote_key(), kBytes), absl::OkStatus());
}

TEST_F(ExportedGradientsTest, KeepsTheLastFewOfEachSession) {
  for (std::uint64_t name = 1; name <= kBuffersKeptMapped + 1; ++name) Map(name);
  EXPECT_THAT(Find(1, 0, 4).wrong, NotNull());
  for (std::uint64_t name = 2; name <= kBuffersKeptMapped + 1; ++name) {
    EXPECT_THAT(Find(name, 0, 4).wrong, IsNull()) << name;
  }
  Map(1);
  EXPECT_THAT(Find(1, 0, 4).wrong, IsNull());
  EXPECT_THAT(Find(2, 0, 4).wrong, NotNull());
}

TEST_F(ExportedGradientsTest, StaysReadableWithoutItsOwnerUntilTheSessionIsOver) {
  Map(5);
  memory_.reset();
  EXPECT_EQ(Find(5, 4, 4).mapped[0], std::byte{4});
  gradients_.Forget(kSession);
  EXPECT_THAT(Find(5, 4, 4).wrong, NotNull());
}

TEST_F(ExportedGradientsTest, ForgetsWhatIsYetToBeMapped) {
  ASSERT_THAT(Announce(5), IsNull());
  gradients_.Forget(kSession);
  EXPECT_TRUE(gradients_.idle());
  EXPECT_FALSE(gradients_.Work().has_value());
}

}  // namespace
}  // namespace weir::ps
