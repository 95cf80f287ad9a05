#include "tests/support/transport_contract.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <iterator>
#include <map>
#include <random>
#include <thread>

#include "common/base/checksum.h"
#include "common/base/clock.h"
#include "tests/support/transport_node.h"
#include "tests/support/transport_pair.h"

namespace weir::testing {
namespace {

using net::kMaxHeaderBytes;
using net::kMaxMessageType;
using net::kMaxPayloadBytes;
using net::PeerId;
using net::SendToken;
using net::Transport;

std::vector<std::byte> Copy(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

using Pair = TransportPair;

// Each of the tokens 1 to `count` was reported once; returns how many with each code.
std::map<absl::StatusCode, int> CountOutcomes(const TransportNode::Record& record, int count) {
  std::map<absl::StatusCode, int> outcomes;
  std::map<std::uint64_t, int> times;
  for (const auto& [token, status] : record.sent) {
    if (token.value() > 999'999) continue;
    ++times[token.value()];
    ++outcomes[status.code()];
  }
  EXPECT_EQ(times.size(), static_cast<std::size_t>(count));
  for (const auto& [token, reports] : times) EXPECT_EQ(reports, 1) << "token " << token;
  return outcomes;
}

auto SentAtLeast(std::size_t count) {
  return [count](const TransportNode::Record& record) { return record.sent.size() >= count; };
}
auto HeardAtLeast(std::size_t count) {
  return [count](const TransportNode::Record& record) { return record.messages.size() >= count; };
}
auto IsDown() {
  return [](const TransportNode::Record& record) { return !record.downs.empty(); };
}

std::size_t OpenDescriptors() {
  std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

TEST_P(TransportContract, CarriesEverySizeUnharmed) {
  Pair pair(GetParam());
  const std::vector<std::byte> header = Pattern(24, 99);
  std::size_t count = 0;
  for (const std::size_t size :
       {0UL, 1UL, 63UL, 64UL, 65UL, 4096UL, 8185UL, 65537UL, kMaxPayloadBytes}) {
    SCOPED_TRACE(size);
    // One byte off, so that the source is unaligned.
    const std::vector<std::byte> source = Pattern(size + 1, count);
    const ByteSpan payload = ByteSpan(source).subspan(1);
    ++count;
    pair.a.Run(
        [&](Transport& t) { t.Send(pair.to_b, 2, header, payload, nullptr, SendToken(count)); });
    ASSERT_TRUE(pair.b.WaitUntil(HeardAtLeast(count)));
    ASSERT_TRUE(pair.a.WaitUntil(SentAtLeast(count)));
    const TransportNode::Message got = pair.b.record().messages.back();
    EXPECT_EQ(got.type, 2);
    EXPECT_EQ(got.header, header);
    EXPECT_TRUE(std::ranges::equal(got.payload, payload));
  }
  EXPECT_EQ(CountOutcomes(pair.a.record(), count)[absl::StatusCode::kOk], static_cast<int>(count));
}

TEST_P(TransportContract, SendsFromItsOwnMemory) {
  Pair pair(GetParam());
  std::unique_ptr<net::Memory> memory;
  pair.a.Run([&](Transport& t) {
    EXPECT_FALSE(t.Allocate(0).ok());
    memory = *t.Allocate(kMaxPayloadBytes + 1000);
    EXPECT_EQ(memory->bytes().size(), kMaxPayloadBytes + 1000);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->bytes().data()) % 64, 0U);
    EXPECT_TRUE(std::ranges::all_of(memory->bytes(), [](std::byte b) { return b == std::byte{}; }));
    std::ranges::copy(Pattern(memory->bytes().size(), 7), memory->bytes().begin());
    t.Send(pair.to_b, 3, {}, memory->bytes().subspan(999, kMaxPayloadBytes), memory.get(),
           SendToken(1));
    t.Send(pair.to_b, 3, {}, memory->bytes().subspan(3, 100), memory.get(), SendToken(2));
  });
  ASSERT_TRUE(pair.b.WaitUntil(HeardAtLeast(2)));
  ASSERT_TRUE(pair.a.WaitUntil(SentAtLeast(2)));
  const auto messages = pair.b.record().messages;
  EXPECT_TRUE(
      std::ranges::equal(messages[0].payload, memory->bytes().subspan(999, kMaxPayloadBytes)));
  EXPECT_TRUE(std::ranges::equal(messages[1].payload, memory->bytes().subspan(3, 100)));
  pair.a.Run([&](Transport&) { memory.reset(); });
}

// What a call of Progress sends, a transport may carry together: each arrives by itself all the
// same.
TEST_P(TransportContract, CarriesManySmallOnesSentInOneGo) {
  Pair pair(GetParam());
  constexpr std::size_t kCount = 30;
  std::unique_ptr<net::Memory> memory;
  std::unique_ptr<net::Memory> other;
  pair.a.Run([&](Transport& t) {
    for (auto* one : {&memory, &other}) {
      *one = *t.Allocate(1 << 20);
      std::ranges::copy(Pattern(1 << 20, one == &memory ? 1 : 2), (*one)->bytes().begin());
    }
  });
  const std::vector<std::byte> loose = Pattern(1 << 20, 3);
  const std::vector<std::byte> headers = Pattern(kMaxHeaderBytes, 4);
  struct Part {
    ByteSpan payload;
    const net::Memory* memory;
  };
  // From the i-th 2 KiB of something.
  const auto part = [](ByteSpan bytes, std::size_t i, std::size_t size, const net::Memory* of) {
    return Part{bytes.subspan(2048 * i, size), of};
  };
  const std::vector<std::function<Part(std::size_t)>> goes = {
      [&](std::size_t i) { return part(memory->bytes(), i, 2048, memory.get()); },
      [&](std::size_t i) { return part(memory->bytes(), i, 2048 - i * 2, memory.get()); },
      [&](std::size_t i) { return part(memory->bytes(), i, 2048 - i * 5, memory.get()); },
      [&](std::size_t i) { return part(memory->bytes(), kCount - i, 2048, memory.get()); },
      [&](std::size_t) { return part(memory->bytes(), 7, 2048, memory.get()); },
      [&](std::size_t i) {
        const auto& of = i % 2 == 0 ? memory : other;
        return part(of->bytes(), i, 2048, of.get());
      },
      [&](std::size_t i) { return part(loose, i, 2048, nullptr); },
      [&](std::size_t i) { return part(loose, i, 2047, nullptr); },
      [&](std::size_t i) { return part(memory->bytes(), i, i % 3 == 1 ? 2048 : 0, memory.get()); },
      [&](std::size_t) {
        return Part{{}, nullptr};
      },
      [&](std::size_t i) { return part(memory->bytes(), 25 * i % 400, 51200, memory.get()); },
  };
  std::size_t sent = 0;
  pair.a.SetHooks(
      [&](Transport& t, std::uint8_t type, ByteSpan, ByteSpan) {
        for (std::size_t i = 0; i < kCount; ++i) {
          const Part next = goes[type - 1](i);
          t.Send(pair.to_b, type, ByteSpan(headers).first(i * 2), next.payload, next.memory,
                 SendToken(++sent));
        }
      },
      nullptr);
  for (std::size_t go = 1; go <= goes.size(); ++go) {
    SCOPED_TRACE(go);
    const auto type = static_cast<std::uint8_t>(go);
    pair.b.Run([&](Transport& t) { t.Send(pair.to_a, type, {}, {}, nullptr, SendToken(go)); });
    ASSERT_TRUE(pair.b.WaitUntil(HeardAtLeast(go * kCount)));
    ASSERT_TRUE(pair.a.WaitUntil(SentAtLeast(go * kCount)));
    const auto messages = pair.b.record().messages;
    for (std::size_t i = 0; i < kCount; ++i) {
      const TransportNode::Message& got = messages[(go - 1) * kCount + i];
      EXPECT_EQ(got.type, type) << i;
      EXPECT_TRUE(std::ranges::equal(got.header, ByteSpan(headers).first(i * 2))) << i;
      EXPECT_TRUE(std::ranges::equal(got.payload, goes[go - 1](i).payload)) << i;
    }
  }
  EXPECT_EQ(CountOutcomes(pair.a.record(), static_cast<int>(sent))[absl::StatusCode::kOk],
            static_cast<int>(sent));
  pair.a.Run([&](Transport&) {
    memory.reset();
    other.reset();
  });
}

TEST_P(TransportContract, HeadersArriveAligned) {
  Pair pair(GetParam());
  std::size_t aligned = 0;
  pair.b.SetHooks(
      [&](Transport& t, std::uint8_t, ByteSpan header, ByteSpan) {
        aligned += reinterpret_cast<std::uintptr_t>(header.data()) % 64 == 0;
        t.Send(pair.to_a, 1, {}, {}, nullptr, SendToken(1));
      },
      nullptr);
  const std::vector<std::byte> bytes = Pattern(100, 1);
  for (std::size_t size = 1; size <= kMaxHeaderBytes; size += 9) {
    pair.a.Run([&](Transport& t) {
      t.Send(pair.to_b, 1, ByteSpan(bytes).subspan(1, size), {}, nullptr, SendToken(size));
    });
  }
  ASSERT_TRUE(pair.a.WaitUntil(HeardAtLeast(8)));
  pair.b.Run([&](Transport&) { EXPECT_EQ(aligned, 8U); });
}

// Keeps `kWindow` of `count` messages under way from one node, each with its number, the checksum
// of its payload and a random size; starts the next as one is reported.
class Stream {
 public:
  static constexpr std::uint64_t kWindow = 16;
  struct Header {
    std::uint64_t number;
    std::uint64_t checksum;
  };

  Stream(std::uint64_t count, unsigned seed) : count_(count), random_(seed) {
    for (auto& buffer : buffers_) buffer = Pattern(kMaxPayloadBytes, seed + buffer.size());
  }
  void Start(Transport& transport, PeerId peer) {
    peer_ = peer;
    for (std::uint64_t i = 0; i < kWindow; ++i) SendNext(transport, i);
  }
  void OnSent(Transport& transport, SendToken token, const absl::Status& status) {
    ok_ += status.ok();  // the last message's too
    if (next_ < count_) SendNext(transport, token.value() % kWindow);
  }
  // The receiving side.
  void Check(ByteSpan header, ByteSpan payload) {
    Header expected{};
    ASSERT_EQ(header.size(), sizeof(expected));
    std::memcpy(&expected, header.data(), sizeof(expected));
    in_order_ += expected.number == received_;
    intact_ += expected.checksum == Checksum(payload);
    ++received_;
  }
  void ExpectWhole() const {
    EXPECT_EQ(ok_, count_ + 1);
    EXPECT_EQ(received_, count_);
    EXPECT_EQ(in_order_, count_);
    EXPECT_EQ(intact_, count_);
  }

 private:
  void SendNext(Transport& transport, std::uint64_t slot) {
    // Small and large in turn: a large one must not be overtaken.
    const std::size_t limit = next_ % 2 == 0 ? 300 : kMaxPayloadBytes / 2;
    const std::size_t size = random_() % limit;
    const std::size_t offset = random_() % (kMaxPayloadBytes - size);
    const ByteSpan payload = ByteSpan(buffers_[slot]).subspan(offset, size);
    const Header header{next_, Checksum(payload)};
    ++next_;
    transport.Send(peer_, 1 + next_ % 6, AsBytes(header), payload, nullptr, SendToken(slot));
  }

  const std::uint64_t count_;
  std::minstd_rand random_;
  std::array<std::vector<std::byte>, kWindow> buffers_;
  PeerId peer_;
  std::uint64_t next_ = 0;
  std::uint64_t ok_ = 0;
  // Of the other node's thread.
  std::uint64_t received_ = 0;
  std::uint64_t in_order_ = 0;
  std::uint64_t intact_ = 0;
};

TEST_P(TransportContract, KeepsOrderBothWaysAtOnce) {
  constexpr std::uint64_t kCount = 1000;
  constexpr std::uint8_t kLast = kMaxMessageType;
  Stream from_a(kCount, 1);
  Stream from_b(kCount, 2);
  Pair pair(GetParam());
  std::promise<void> a_has_last;
  std::promise<void> b_has_last;
  const auto hooks = [](TransportNode& node, Stream& out, Stream& in, std::promise<void>& last) {
    node.SetHooks(
        [&](Transport&, std::uint8_t type, ByteSpan header, ByteSpan payload) {
          if (type == kLast) {
            last.set_value();
          } else {
            in.Check(header, payload);
          }
        },
        [&](Transport& t, SendToken token, const absl::Status& status) {
          out.OnSent(t, token, status);
        });
  };
  hooks(pair.a, from_a, from_b, a_has_last);
  hooks(pair.b, from_b, from_a, b_has_last);
  pair.a.Run([&](Transport& t) { from_a.Start(t, pair.to_b); });
  pair.b.Run([&](Transport& t) { from_b.Start(t, pair.to_a); });
  EXPECT_TRUE(pair.a.WaitUntil(SentAtLeast(kCount)));
  EXPECT_TRUE(pair.b.WaitUntil(SentAtLeast(kCount)));
  // A last message each way, behind all others; the streams are read after it.
  pair.a.Run([&](Transport& t) { t.Send(pair.to_b, kLast, {}, {}, nullptr, SendToken(0)); });
  pair.b.Run([&](Transport& t) { t.Send(pair.to_a, kLast, {}, {}, nullptr, SendToken(0)); });
  EXPECT_TRUE(pair.a.WaitUntil(SentAtLeast(kCount + 1)));
  EXPECT_TRUE(pair.b.WaitUntil(SentAtLeast(kCount + 1)));
  for (std::promise<void>* last : {&a_has_last, &b_has_last}) {
    ASSERT_EQ(last->get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  }
  from_a.ExpectWhole();
  from_b.ExpectWhole();
}

TEST_P(TransportContract, RefusesWhatIsBeyondTheLimits) {
  Pair pair(GetParam());
  const std::vector<std::byte> bytes(kMaxPayloadBytes + 1);
  const auto header = [&](std::size_t size) { return ByteSpan(bytes).first(size); };
  pair.a.Run([&](Transport& t) {
    t.Send(pair.to_b, 1, header(kMaxHeaderBytes), {}, nullptr, SendToken(1));
    t.Send(pair.to_b, kMaxMessageType, {}, {}, nullptr, SendToken(2));
    t.Send(pair.to_b, 1, header(kMaxHeaderBytes + 1), {}, nullptr, SendToken(3));
    t.Send(pair.to_b, 1, {}, bytes, nullptr, SendToken(4));
    t.Send(pair.to_b, 0, {}, {}, nullptr, SendToken(5));
    t.Send(pair.to_b, kMaxMessageType + 1, {}, {}, nullptr, SendToken(6));
    t.Send(PeerId(12345), 1, {}, {}, nullptr, SendToken(7));
  });
  ASSERT_TRUE(pair.a.WaitUntil(SentAtLeast(7)));
  auto outcomes = CountOutcomes(pair.a.record(), 7);
  EXPECT_EQ(outcomes[absl::StatusCode::kOk], 2);
  EXPECT_EQ(outcomes[absl::StatusCode::kInvalidArgument], 4);
  EXPECT_EQ(outcomes[absl::StatusCode::kNotFound], 1);
  ASSERT_TRUE(pair.b.WaitUntil(HeardAtLeast(2)));
  EXPECT_EQ(pair.b.record().messages[0].header.size(), kMaxHeaderBytes);
}

TEST_P(TransportContract, RefusesAddressesThatAreNone) {
  TransportNode node(GetParam().create());
  node.Run([&](Transport& t) {
    std::string address = t.address();
    for (const std::string& bad : {std::string(), std::string("nonsense"), std::string(300, 'x'),
                                   address.substr(1), address.substr(0, address.size() / 2)}) {
      EXPECT_EQ(t.Connect(bad, "x").status().code(), absl::StatusCode::kInvalidArgument) << bad;
    }
  });
}

TEST_P(TransportContract, RepliesFromWithinOnMessage) {
  constexpr std::size_t kRounds = 200;
  Pair pair(GetParam());
  pair.b.SetHooks([&](Transport& t, std::uint8_t, ByteSpan header,
                      ByteSpan) { t.Send(pair.to_a, 2, header, {}, nullptr, SendToken(1)); },
                  nullptr);
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    pair.a.Run(
        [&](Transport& t) { t.Send(pair.to_b, 1, AsBytes(i), {}, nullptr, SendToken(i + 1)); });
  }
  ASSERT_TRUE(pair.a.WaitUntil(HeardAtLeast(kRounds)));
  const auto messages = pair.a.record().messages;
  for (std::uint64_t i = 0; i < kRounds; ++i) EXPECT_EQ(messages[i].header, Copy(AsBytes(i)));
  ASSERT_TRUE(pair.a.WaitUntil(SentAtLeast(kRounds)));
  CountOutcomes(pair.a.record(), kRounds);
}

TEST_P(TransportContract, NeverCallsBackFromWithinSend) {
  Pair pair(GetParam());
  pair.a.Run([&](Transport& t) {
    t.Send(pair.to_b, 1, {}, {}, nullptr, SendToken(1));
    EXPECT_TRUE(pair.a.record().sent.empty());
  });
  EXPECT_TRUE(pair.a.WaitUntil(SentAtLeast(1)));
}

TEST_P(TransportContract, ReceivesFromWhoeverHasItsAddress) {
  TransportNode a(GetParam().create());
  TransportNode b(GetParam().create());
  std::string address;
  b.Run([&](Transport& t) { address = t.address(); });
  a.Run([&](Transport& t) {
    const PeerId to_b = *t.Connect(address, "b");
    t.Send(to_b, 1, {}, {}, nullptr, SendToken(1));
  });
  EXPECT_TRUE(b.WaitUntil(HeardAtLeast(1)));
}

TEST_P(TransportContract, WakeMakesWaitReturn) {
  constexpr int kRounds = 40;
  const std::unique_ptr<Transport> transport = GetParam().create();
  TransportNode events(GetParam().create());
  // Until a wait lasts, which may poll first: then nothing but Wake ends one early.
  bool quiet = false;
  const absl::Time give_up = MonotonicNow() + absl::Seconds(10);
  while (!quiet && MonotonicNow() < give_up) {
    while (transport->Progress(events)) {
    }
    const absl::Time start = MonotonicNow();
    transport->Wait(absl::Milliseconds(40));
    quiet = MonotonicNow() - start >= absl::Milliseconds(40);
  }
  ASSERT_TRUE(quiet);
  const absl::Time start = MonotonicNow();
  std::thread waker;
  for (int i = 0; i < kRounds; ++i) {
    if (i % 2 == 0) {
      transport->Wake();
      transport->Wait(absl::Seconds(10));
    } else {
      waker = std::thread([&] { transport->Wake(); });
      transport->Wait(absl::Seconds(10));
      waker.join();
    }
  }
  // Half of what the shortest sleep (100 ms) would take without Wake.
  EXPECT_LT(MonotonicNow() - start, kRounds * absl::Milliseconds(50));
  events.Stop();
}

TEST_P(TransportContract, NoticesThatAPeerClosed) {
  if (!GetParam().notices_closing) GTEST_SKIP() << "this fabric notices only a process's end";
  Pair pair(GetParam());
  pair.Greet();
  pair.b.Stop();
  ASSERT_TRUE(pair.a.WaitUntil(IsDown()));
  pair.a.Run([&](Transport& t) { t.Send(pair.to_b, 1, {}, {}, nullptr, SendToken(1)); });
  ASSERT_TRUE(pair.a.WaitUntil(SentAtLeast(2)));
  const TransportNode::Record record = pair.a.record();
  EXPECT_EQ(record.sent.back().second.code(), absl::StatusCode::kUnavailable);
  ASSERT_EQ(record.downs.size(), 1U);
  EXPECT_EQ(record.downs[0].first, pair.to_b);
  EXPECT_EQ(record.downs[0].second.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(record.downs[0].second.message().find("b"), absl::string_view::npos);
  pair.a.Run([&](Transport& t) { t.Disconnect(pair.to_b); });
  pair.a.Run([&](Transport& t) { t.Send(pair.to_b, 1, {}, {}, nullptr, SendToken(2)); });
  ASSERT_TRUE(pair.a.WaitUntil(SentAtLeast(3)));
  EXPECT_FALSE(pair.a.record().sent.back().second.ok());
}

TEST_P(TransportContract, ReportsWhatWasUnderWayToAPeerThatClosed) {
  if (!GetParam().notices_closing) GTEST_SKIP() << "this fabric notices only a process's end";
  constexpr int kCount = 300;
  const std::vector<std::byte> payload(kMaxPayloadBytes);
  Pair pair(GetParam());
  pair.Greet();
  pair.b.Freeze(true);
  pair.a.Run([&](Transport& t) {
    for (int i = 1; i <= kCount; ++i) {
      t.Send(pair.to_b, 1, {}, payload, nullptr, SendToken(i));
    }
  });
  pair.b.Stop();
  EXPECT_TRUE(pair.a.WaitUntil(SentAtLeast(kCount + 1)));
  EXPECT_TRUE(pair.a.WaitUntil(IsDown()));
  EXPECT_GT(CountOutcomes(pair.a.record(), kCount)[absl::StatusCode::kUnavailable], 0);
}

TEST_P(TransportContract, DisconnectsFromAFrozenPeer) {
  constexpr int kCount = 300;
  const std::vector<std::byte> payload(kMaxPayloadBytes);
  Pair pair(GetParam());
  pair.Greet();
  pair.b.Freeze(true);
  pair.a.Run([&](Transport& t) {
    for (int i = 1; i <= kCount; ++i) {
      t.Send(pair.to_b, 1, {}, payload, nullptr, SendToken(i));
    }
    t.Disconnect(pair.to_b);
    t.Send(pair.to_b, 1, {}, {}, nullptr, SendToken(kCount + 1));
  });
  ASSERT_TRUE(pair.a.WaitUntil(SentAtLeast(kCount + 2)));
  auto outcomes = CountOutcomes(pair.a.record(), kCount + 1);
  EXPECT_GT(outcomes[absl::StatusCode::kCancelled], 0);
  EXPECT_TRUE(pair.a.record().downs.empty());
  // The peer, too, lives on.
  pair.b.Freeze(false);
  TransportNode c(GetParam().create());
  std::string address;
  pair.b.Run([&](Transport& t) { address = t.address(); });
  c.Run([&](Transport& t) { t.Send(*t.Connect(address, "b"), 9, {}, {}, nullptr, SendToken(1)); });
  // Not necessarily last: what the frozen peer still has of the old connection may come after it.
  EXPECT_TRUE(pair.b.WaitUntil([](const TransportNode::Record& record) {
    return std::ranges::any_of(record.messages, [](const auto& m) { return m.type == 9; });
  }));
}

TEST_P(TransportContract, DestructionReportsWhatWasUnderWay) {
  constexpr int kCount = 300;
  const std::vector<std::byte> payload(kMaxPayloadBytes);
  Pair pair(GetParam());
  pair.Greet();
  pair.b.Freeze(true);
  pair.a.Run([&](Transport& t) {
    for (int i = 1; i <= kCount; ++i) {
      t.Send(pair.to_b, 1, {}, payload, nullptr, SendToken(i));
    }
  });
  const absl::Time start = MonotonicNow();
  pair.a.Stop();
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(2));
  EXPECT_GT(CountOutcomes(pair.a.record(), kCount)[absl::StatusCode::kCancelled], 0);
}

// One after the other come, exchange messages with the same server, and go.
TEST_P(TransportContract, ManyComeAndGoWithoutALeak) {
  const int rounds = GetParam().comings;
  TransportNode server(GetParam().create());
  std::string server_address;
  server.Run([&](Transport& t) { server_address = t.address(); });
  std::size_t descriptors = 0;
  for (int i = 1; i <= rounds; ++i) {
    SCOPED_TRACE(i);
    const std::size_t count = static_cast<std::size_t>(i);
    TransportNode client(GetParam().create());
    std::string address;
    PeerId to_client;
    client.Run([&](Transport& t) {
      address = t.address();
      t.Send(*t.Connect(server_address, "server"), 1, {}, {}, nullptr, SendToken(1));
    });
    server.Run([&](Transport& t) {
      to_client = *t.Connect(address, "client");
      t.Send(to_client, 1, {}, {}, nullptr, SendToken(count));
    });
    ASSERT_TRUE(server.WaitUntil(HeardAtLeast(count)));
    ASSERT_TRUE(client.WaitUntil(HeardAtLeast(1)));
    ASSERT_TRUE(server.WaitUntil(SentAtLeast(count)));
    server.Run([&](Transport& t) { t.Disconnect(to_client); });
    client.Stop();
    if (i == rounds / 5) descriptors = OpenDescriptors();
  }
  EXPECT_LE(OpenDescriptors(), descriptors + 8);
}

TEST_P(TransportContract, MapsAPeersMemory) {
  if (!GetParam().maps) GTEST_SKIP() << "this fabric shares no memory";
  constexpr std::size_t kBytes = 3 * kMaxPayloadBytes + 8;
  Pair pair(GetParam());
  std::unique_ptr<net::Memory> memory;
  std::string key;
  pair.b.Run([&](Transport& t) {
    memory = *t.Allocate(kBytes);
    std::ranges::copy(Pattern(kBytes, 5), memory->bytes().begin());
    key = memory->remote_key();
  });
  std::unique_ptr<net::MappedMemory> mapped;
  pair.a.Run([&](Transport& t) {
    auto result = t.Map(pair.to_b, key, kBytes);
    ASSERT_TRUE(result.ok()) << result.status();
    mapped = *std::move(result);
    ASSERT_EQ(mapped->bytes().size(), kBytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped->bytes().data()) % 64, 0U);
    // It ends, whatever the slices, and may be asked for again.
    std::size_t slices = 1;
    while (mapped->Prefault(10'000)) ++slices;
    EXPECT_LE(slices, kBytes / 10'000 + 1);
    EXPECT_FALSE(mapped->Prefault(1));
    EXPECT_TRUE(std::ranges::equal(mapped->bytes(), Pattern(kBytes, 5)));
  });
  ASSERT_TRUE(mapped != nullptr);
  // Stores of either side appear on the other.
  pair.b.Run([&](Transport&) { std::ranges::copy(Pattern(kBytes, 6), memory->bytes().begin()); });
  pair.a.Run([&](Transport&) {
    EXPECT_TRUE(std::ranges::equal(mapped->bytes(), Pattern(kBytes, 6)));
    mapped->bytes()[kBytes - 1] = std::byte{77};
  });
  pair.b.Run([&](Transport&) { EXPECT_EQ(memory->bytes()[kBytes - 1], std::byte{77}); });
  // It outlives its owner, and the connection.
  pair.b.Run([&](Transport&) { memory.reset(); });
  pair.b.Stop();
  pair.a.Run([&](Transport& t) {
    t.Disconnect(pair.to_b);
    EXPECT_TRUE(std::ranges::equal(mapped->bytes().first(kBytes - 1),
                                   ByteSpan(Pattern(kBytes, 6)).first(kBytes - 1)));
    mapped.reset();
  });
}

TEST_P(TransportContract, RefusesToMapWhatIsNot) {
  constexpr std::size_t kBytes = 10'000;
  Pair pair(GetParam());
  std::unique_ptr<net::Memory> memory;
  std::string key;
  pair.b.Run([&](Transport& t) {
    memory = *t.Allocate(kBytes);
    key = memory->remote_key();
  });
  EXPECT_TRUE(!key.empty() || (!GetParam().maps && !GetParam().one_sided));
  pair.a.Run([&](Transport& t) {
    const auto code = [&](PeerId peer, const std::string& k, std::size_t bytes) {
      return t.Map(peer, k, bytes).status().code();
    };
    EXPECT_EQ(code(PeerId(12345), key, kBytes), absl::StatusCode::kNotFound);
    const auto wrong =
        GetParam().maps ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kUnavailable;
    for (const std::string& bad : {std::string(), std::string("nonsense"), std::string(300, 'x'),
                                   key + "x", key.substr(0, key.size() / 2)}) {
      EXPECT_EQ(code(pair.to_b, bad, kBytes), wrong) << bad;
    }
    EXPECT_EQ(code(pair.to_b, key, 0), wrong);
    EXPECT_EQ(code(pair.to_b, key, kBytes + 1), wrong);
  });
  pair.b.Run([&](Transport&) { memory.reset(); });
}

TEST_P(TransportContract, NamesThePath) {
  Pair pair(GetParam());
  pair.Greet();
  pair.a.Run([&](Transport& t) {
    const std::string path = t.PathTo(pair.to_b);
    EXPECT_EQ(path.rfind("message (", 0), 0U) << path;
    ::testing::Test::RecordProperty("path", path);
    EXPECT_EQ(t.PathTo(PeerId(999)).rfind("message (", 0), 0U);
  });
}

}  // namespace
}  // namespace weir::testing
