#include "common/net/ucx/batch_format.h"

#include <span>
#include <vector>

#include "gtest/gtest.h"

namespace weir::net {
namespace {

struct Bytes {
  std::vector<std::byte> headers;
  std::vector<std::byte> payloads;
  Batch batch() const { return {.headers = headers, .payloads = payloads}; }
};

void Append(std::vector<std::byte>& to, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(i));
}

/// `prefix` with the header and, after the gap, the payload that it speaks of.
void Append(Bytes& batch, const RecordPrefix& prefix) {
  for (const std::byte byte : std::as_bytes(std::span(&prefix, 1))) batch.headers.push_back(byte);
  Append(batch.headers, prefix.header_bytes);
  batch.payloads.insert(batch.payloads.end(), prefix.gap_bytes, std::byte{0xff});
  Append(batch.payloads, prefix.payload_bytes);
}

/// Four messages: with header and payload, with a header only, with nothing, with a payload only.
Bytes Four() {
  Bytes batch;
  Append(batch, {.payload_bytes = 5, .type = 1, .header_bytes = 3});
  Append(batch, {.payload_bytes = 0, .type = 15, .header_bytes = 64});
  Append(batch, {.payload_bytes = 0, .type = 2, .header_bytes = 0});
  Append(batch, {.payload_bytes = 9, .type = 3, .header_bytes = 0, .gap_bytes = 63});
  return batch;
}

TEST(BatchFormatTest, TakesMessagesInOrder) {
  const Bytes bytes = Four();
  ASSERT_TRUE(IsBatch(bytes.batch()));
  Batch rest = bytes.batch();
  BatchRecord record;
  ASSERT_TRUE(TakeRecord(rest, record));
  EXPECT_EQ(record.type, 1);
  ASSERT_EQ(record.header.size(), 3U);
  EXPECT_EQ(record.header[2], std::byte{2});
  ASSERT_EQ(record.payload.size(), 5U);
  EXPECT_EQ(record.payload[0], std::byte{0});
  ASSERT_TRUE(TakeRecord(rest, record));
  EXPECT_EQ(record.header.size(), kMaxHeaderBytes);
  EXPECT_TRUE(record.payload.empty());
  ASSERT_TRUE(TakeRecord(rest, record));
  EXPECT_EQ(record.type, 2);
  ASSERT_TRUE(TakeRecord(rest, record));
  EXPECT_TRUE(record.header.empty());
  ASSERT_EQ(record.payload.size(), 9U);
  EXPECT_EQ(record.payload[0], std::byte{0});
  EXPECT_TRUE(rest.headers.empty());
  EXPECT_TRUE(rest.payloads.empty());
  EXPECT_FALSE(TakeRecord(rest, record));
}

TEST(BatchFormatTest, IsNoneWhereverItIsCut) {
  const Bytes bytes = Four();
  for (std::size_t size = 0; size < bytes.headers.size(); ++size) {
    EXPECT_FALSE(
        IsBatch({.headers = ByteSpan(bytes.headers).first(size), .payloads = bytes.payloads}))
        << size;
  }
  for (std::size_t size = 0; size < bytes.payloads.size(); ++size) {
    EXPECT_FALSE(
        IsBatch({.headers = bytes.headers, .payloads = ByteSpan(bytes.payloads).first(size)}))
        << size;
  }
}

TEST(BatchFormatTest, IsNoneWithBytesLeft) {
  Bytes bytes = Four();
  Append(bytes.payloads, 1);
  EXPECT_FALSE(IsBatch(bytes.batch()));
}

TEST(BatchFormatTest, IsNoneWithAFieldOutOfRange) {
  const std::vector<RecordPrefix> bad = {
      {.payload_bytes = 0, .type = 0, .header_bytes = 0},
      {.payload_bytes = 0, .type = kMaxMessageType + 1, .header_bytes = 0},
      {.payload_bytes = 0, .type = 1, .header_bytes = kMaxHeaderBytes + 1},
      {.payload_bytes = kMaxPayloadBytes + 1, .type = 1, .header_bytes = 0},
      {.payload_bytes = 1, .type = 1, .header_bytes = 0, .gap_bytes = kMaxGapBytes + 1},
  };
  for (const RecordPrefix& prefix : bad) {
    Bytes bytes = Four();
    Append(bytes, prefix);
    EXPECT_FALSE(IsBatch(bytes.batch())) << prefix.payload_bytes << " " << int{prefix.type};
  }
}

TEST(BatchFormatTest, IsNoneWithALengthBeyondAll) {
  Bytes bytes = Four();
  const RecordPrefix prefix{.payload_bytes = 0xffffffff, .type = 1, .header_bytes = 0};
  for (const std::byte byte : std::as_bytes(std::span(&prefix, 1))) bytes.headers.push_back(byte);
  EXPECT_FALSE(IsBatch(bytes.batch()));
}

TEST(BatchFormatTest, NoBatchIsInABatch) {
  Bytes bytes;
  Append(bytes, {.payload_bytes = 8, .type = kBatchMessage, .header_bytes = 0});
  EXPECT_FALSE(IsBatch(bytes.batch()));
}

}  // namespace
}  // namespace weir::net
