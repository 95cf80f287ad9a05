// What common/net/transport.h promises of Open and Get.
#include <algorithm>
#include <map>

#include "common/base/clock.h"
#include "tests/support/transport_contract.h"
#include "tests/support/transport_pair.h"

namespace weir::testing {
namespace {

using net::GetToken;
using net::PeerId;
using net::Transport;

constexpr std::size_t kBytes = 1'000'003;

auto GotAtLeast(std::size_t count) {
  return [count](const TransportNode::Record& record) { return record.got.size() >= count; };
}

// `b` has memory with a pattern, and `a` reads it.
struct Reading {
  explicit Reading(const TransportKind& kind) : pair(kind) {
    pair.b.Run([&](Transport& t) {
      source = *t.Allocate(kBytes);
      std::ranges::copy(Pattern(kBytes, 5), source->bytes().begin());
      key = source->remote_key();
    });
    pair.a.Run([&](Transport& t) {
      target = *t.Allocate(kBytes);
      auto opened = t.Open(pair.to_b, key, kBytes);
      ASSERT_TRUE(opened.ok()) << opened.status();
      remote = *std::move(opened);
      EXPECT_EQ(remote->size(), kBytes);
    });
  }
  ~Reading() {
    // On its transport's thread, and before it.
    if (remote != nullptr) pair.a.Run([&](Transport&) { remote.reset(); });
  }
  void Get(Transport& t, std::size_t offset, std::size_t at, std::size_t size, int token) {
    t.Get(*remote, offset, target->bytes().subspan(at, size), *target,
          GetToken(static_cast<std::uint64_t>(token)));
  }
  // Each of the gets 1 to `count` was reported once; how many with each code.
  std::map<absl::StatusCode, int> Outcomes(int count) {
    std::map<absl::StatusCode, int> outcomes;
    std::map<std::uint64_t, int> times;
    for (const auto& [token, status] : pair.a.record().got) {
      ++times[token.value()];
      ++outcomes[status.code()];
    }
    EXPECT_EQ(times.size(), static_cast<std::size_t>(count));
    for (const auto& [token, reports] : times) EXPECT_EQ(reports, 1) << "get " << token;
    return outcomes;
  }

  // Memory may outlive its transport.
  std::unique_ptr<net::Memory> source;
  std::unique_ptr<net::Memory> target;
  TransportPair pair;
  std::string key;
  std::unique_ptr<net::RemoteMemory> remote;
};

TEST_P(TransportContract, GetsEverySizeAtAnyAlignment) {
  if (!GetParam().one_sided) GTEST_SKIP() << "this fabric has no one-sided reads";
  Reading reading(GetParam());
  const std::vector<std::byte> pattern = Pattern(kBytes, 5);
  int count = 0;
  for (const std::size_t size :
       {1UL, 2UL, 7UL, 63UL, 64UL, 65UL, 4097UL, 65537UL, 229'376UL, kBytes - 11}) {
    SCOPED_TRACE(size);
    ++count;
    const std::size_t offset = size % 11;
    const std::size_t at = size % 5;
    reading.pair.a.Run([&](Transport& t) { reading.Get(t, offset, at, size, count); });
    ASSERT_TRUE(reading.pair.a.WaitUntil(GotAtLeast(count)));
    EXPECT_TRUE(std::ranges::equal(reading.target->bytes().subspan(at, size),
                                   ByteSpan(pattern).subspan(offset, size)));
  }
  EXPECT_EQ(reading.Outcomes(count)[absl::StatusCode::kOk], count);
}

// Whoever reads asks nobody: the owner may do something else.
TEST_P(TransportContract, GetsFromAFrozenPeer) {
  if (!GetParam().one_sided) GTEST_SKIP() << "this fabric has no one-sided reads";
  Reading reading(GetParam());
  reading.pair.Greet();
  reading.pair.b.Freeze(true);
  reading.pair.b.Run([&](Transport&) { reading.source->bytes()[17] = std::byte{99}; });
  reading.pair.a.Run([&](Transport& t) { reading.Get(t, 17, 0, 1, 1); });
  ASSERT_TRUE(reading.pair.a.WaitUntil(GotAtLeast(1)));
  EXPECT_EQ(reading.target->bytes()[0], std::byte{99});
  reading.pair.b.Freeze(false);
}

TEST_P(TransportContract, GetsWithinTheMemoryOnly) {
  if (!GetParam().one_sided) GTEST_SKIP() << "this fabric has no one-sided reads";
  Reading reading(GetParam());
  reading.pair.a.Run([&](Transport& t) {
    reading.Get(t, 0, 0, 0, 1);
    reading.Get(t, kBytes, 0, 1, 2);
    reading.Get(t, kBytes - 10, 0, 11, 3);
    reading.Get(t, ~std::size_t{0}, 0, 11, 4);
    reading.Get(t, kBytes - 10, 0, 10, 5);
    EXPECT_TRUE(reading.pair.a.record().got.empty());
  });
  ASSERT_TRUE(reading.pair.a.WaitUntil(GotAtLeast(5)));
  auto outcomes = reading.Outcomes(5);
  EXPECT_EQ(outcomes[absl::StatusCode::kInvalidArgument], 4);
  EXPECT_EQ(outcomes[absl::StatusCode::kOk], 1);
}

TEST_P(TransportContract, DisconnectCancelsGets) {
  if (!GetParam().one_sided) GTEST_SKIP() << "this fabric has no one-sided reads";
  constexpr int kCount = 50;
  Reading reading(GetParam());
  reading.pair.Greet();
  reading.pair.a.Run([&](Transport& t) {
    for (int i = 1; i <= kCount; ++i) reading.Get(t, 0, 0, kBytes, i);
    t.Disconnect(reading.pair.to_b);
    reading.Get(t, 0, 0, 1, kCount + 1);
  });
  ASSERT_TRUE(reading.pair.a.WaitUntil(GotAtLeast(kCount + 1)));
  auto outcomes = reading.Outcomes(kCount + 1);
  EXPECT_GT(outcomes[absl::StatusCode::kCancelled], 0);
  EXPECT_EQ(outcomes[absl::StatusCode::kOk] + outcomes[absl::StatusCode::kCancelled] +
                outcomes[absl::StatusCode::kNotFound],
            kCount + 1);
}

TEST_P(TransportContract, DestructionReportsGets) {
  if (!GetParam().one_sided) GTEST_SKIP() << "this fabric has no one-sided reads";
  constexpr int kCount = 50;
  Reading reading(GetParam());
  reading.pair.Greet();
  reading.pair.a.Run([&](Transport& t) {
    for (int i = 1; i <= kCount; ++i) reading.Get(t, 0, 0, kBytes, i);
    reading.remote.reset();
  });
  const absl::Time start = MonotonicNow();
  reading.pair.a.Stop();
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(3));
  reading.Outcomes(kCount);
}

TEST_P(TransportContract, OpensNothingElse) {
  TransportPair pair(GetParam());
  std::unique_ptr<net::Memory> memory;
  std::string key;
  pair.b.Run([&](Transport& t) {
    memory = *t.Allocate(10'000);
    key = memory->remote_key();
  });
  pair.a.Run([&](Transport& t) {
    const auto code = [&](PeerId peer, const std::string& k, std::size_t bytes) {
      return t.Open(peer, k, bytes).status().code();
    };
    EXPECT_EQ(code(PeerId(12345), key, 10'000), absl::StatusCode::kNotFound);
    const auto wrong =
        GetParam().one_sided ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kUnavailable;
    for (const std::string& bad : {std::string(), std::string("nonsense"), std::string(300, 'x'),
                                   key + "x", key.substr(0, key.size() / 2)}) {
      EXPECT_EQ(code(pair.to_b, bad, 10'000), wrong) << bad;
    }
    EXPECT_EQ(code(pair.to_b, key, 0), wrong);
    EXPECT_EQ(code(pair.to_b, key, 10'001), wrong);
  });
  pair.b.Run([&](Transport&) { memory.reset(); });
}

}  // namespace
}  // namespace weir::testing
