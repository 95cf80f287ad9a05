// A read from afar whose end comes only when the transport goes, as from a device that flushes
// late.
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "common/net/loopback.h"
#include "gtest/gtest.h"
#include "tests/integration/held_gets.h"
#include "worker/client/one_sided_reader.h"

namespace weir::testing {
namespace {

TEST(OneSidedReaderTest, WhatEndsAfterItWasLetGoIsNobodysAnyMore) {
  constexpr std::size_t kArenaBytes = 4096;
  constexpr std::size_t kBlockBytes = 400;
  const auto fabric = net::LoopbackFabric::Create();
  const auto shard = fabric->CreateTransport();
  const auto gets = std::make_shared<HeldGets>();
  HoldingTransport transport(fabric->CreateTransport(), gets);
  const auto arena = *shard->Allocate(kArenaBytes);
  const auto target = *transport.Allocate(kBlockBytes);
  const net::PeerId peer = *transport.Connect(shard->address(), "ps 0");
  int done = 0;
  const auto reader = *OneSidedReader::Create(
      transport, *transport.Open(peer, arena->remote_key(), kArenaBytes), ShardIndex(0),
      /*blocks=*/1, Incarnation(1),
      [&](const OneSidedReader::Read&, std::optional<Version>) { ++done; });
  reader->Add({.block = BlockId(0),
               .to = std::span(reinterpret_cast<float*>(target->bytes().data()),
                               kBlockBytes / sizeof(float)),
               .memory = target.get()});
  gets->Hold(1);
  ASSERT_TRUE(reader->Start());
  ASSERT_EQ(gets->held(), 1U);
  reader->LetGo();
  reader->OnGot(absl::CancelledError("the transport goes"));
  EXPECT_EQ(done, 0);
  EXPECT_EQ(gets->held(), 1U) << "nothing more was started";
}

}  // namespace
}  // namespace weir::testing
