#include "common/net/ucx/batch_format.h"

#include <span>
#include <vector>

#include "gtest/gtest.h"

namespace weir::net {
namespace {

using Bytes = std::vector<std::byte>;

void Append(Bytes& batch, const RecordPrefix& prefix, std::size_t bytes) {
  for (const std::byte byte : std::as_bytes(std::span(&prefix, 1))) batch.push_back(byte);
  for (std::size_t i = 0; i < bytes; ++i) batch.push_back(static_cast<std::byte>(i));
}

/// Three messages: with header and payload, with a header only, with nothing.
Bytes Three() {
  Bytes batch;
  Append(batch, {.payload_bytes = 5, .type = 1, .header_bytes = 3}, 8);
  Append(batch, {.payload_bytes = 0, .type = 15, .header_bytes = 64}, 64);
  Append(batch, {.payload_bytes = 0, .type = 2, .header_bytes = 0}, 0);
  return batch;
}

TEST(BatchFormatTest, TakesMessagesInOrder) {
  const Bytes batch = Three();
  ASSERT_TRUE(IsBatch(batch));
  ByteSpan rest = batch;
  BatchRecord record;
  ASSERT_TRUE(TakeRecord(rest, record));
  EXPECT_EQ(record.type, 1);
  EXPECT_EQ(record.header.size(), 3U);
  ASSERT_EQ(record.payload.size(), 5U);
  EXPECT_EQ(record.payload[0], std::byte{3});
  ASSERT_TRUE(TakeRecord(rest, record));
  EXPECT_EQ(record.header.size(), kMaxHeaderBytes);
  EXPECT_TRUE(record.payload.empty());
  ASSERT_TRUE(TakeRecord(rest, record));
  EXPECT_EQ(record.type, 2);
  EXPECT_TRUE(rest.empty());
  EXPECT_FALSE(TakeRecord(rest, record));
}

TEST(BatchFormatTest, IsNoneWhereverItIsCutButBetweenMessages) {
  const Bytes batch = Three();
  for (std::size_t size = 0; size < batch.size(); ++size) {
    const bool between = size == 16 || size == 88;
    EXPECT_EQ(IsBatch(ByteSpan(batch).first(size)), between) << size;
  }
}

TEST(BatchFormatTest, IsNoneWithAFieldOutOfRange) {
  const std::vector<RecordPrefix> bad = {
      {.payload_bytes = 0, .type = 0, .header_bytes = 0},
      {.payload_bytes = 0, .type = kMaxMessageType + 1, .header_bytes = 0},
      {.payload_bytes = 0, .type = 1, .header_bytes = kMaxHeaderBytes + 1},
      {.payload_bytes = kMaxPayloadBytes + 1, .type = 1, .header_bytes = 0},
      {.payload_bytes = 0xffffffff, .type = 1, .header_bytes = 64},
      {.payload_bytes = 0, .type = 1, .header_bytes = 0, .reserved = 1},
  };
  for (const RecordPrefix& prefix : bad) {
    Bytes batch = Three();
    Append(batch, prefix, kMaxPayloadBytes + 100);
    EXPECT_FALSE(IsBatch(batch)) << prefix.payload_bytes << " " << int{prefix.type};
  }
}

TEST(BatchFormatTest, NoBatchIsInABatch) {
  Bytes batch;
  Append(batch, {.payload_bytes = 8, .type = kBatchMessage, .header_bytes = 0}, 8);
  EXPECT_FALSE(IsBatch(batch));
}

}  // namespace
}  // namespace weir::net
