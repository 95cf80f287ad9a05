#include "common/rpc/wire_message.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/unit/rpc/fake_chief.h"

namespace weir::rpc {
namespace {

using flatbuffers::grpc::Message;

wire::MemberMessageT SampleMessage() {
  wire::CheckpointDoneT done;
  done.file = "shard-0-of-2.safetensors";
  for (int i = 0; i < 3; ++i) {
    done.entries.push_back(std::make_unique<wire::ShardFileEntryT>());
    done.entries.back()->tensor = "conv/kernel";
  }
  done.worker_clocks = {1, 2, 3};
  done.stats = std::make_unique<wire::ShardStatsT>();
  done.stats->staleness = {5, 6, 7};
  wire::MemberMessageT message;
  message.role = wire::Role::Ps;
  message.incarnation = 42;
  message.body = BodyOf<wire::MemberBodyUnion>(std::move(done));
  return message;
}

std::string BytesOf(const Message<wire::MemberMessage>& message) {
  return std::string(reinterpret_cast<const char*>(message.data()), message.size());
}

absl::Status DecodeBytes(const std::string& bytes, wire::MemberMessageT* object) {
  return Decode(Message<wire::MemberMessage>(grpc::Slice(bytes)), "MemberMessage", object);
}

TEST(WireMessage, ComesBackEqual) {
  wire::MemberMessageT decoded;
  ASSERT_TRUE(Decode(Encode<wire::MemberMessage>(SampleMessage()), "m", &decoded).ok());
  EXPECT_EQ(decoded.incarnation, 42u);
  const auto* done = decoded.body.AsCheckpointDone();
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->entries.size(), 3u);
  EXPECT_EQ(done->entries[1]->tensor, "conv/kernel");
  EXPECT_EQ(done->stats->staleness, (std::vector<std::uint64_t>{5, 6, 7}));
}

TEST(WireMessage, ReplacesWhatTheObjectHeld) {
  wire::MemberMessageT object = SampleMessage();
  wire::MemberMessageT plain;
  plain.index = 3;
  ASSERT_TRUE(Decode(Encode<wire::MemberMessage>(plain), "m", &object).ok());
  EXPECT_EQ(object.index, 3u);
  EXPECT_EQ(object.body.type, wire::MemberBody::NONE);
  EXPECT_EQ(object.body.value, nullptr);
}

TEST(WireMessage, RefusesTheEmptyMessage) {
  wire::MemberMessageT object;
  EXPECT_EQ(DecodeBytes("", &object).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Decode(Message<wire::MemberMessage>(), "m", &object).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(WireMessage, SurvivesEveryTruncationAndLeavesTheObject) {
  const std::string bytes = BytesOf(Encode<wire::MemberMessage>(SampleMessage()));
  wire::MemberMessageT object;
  object.index = 77;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    wire::MemberMessageT copy = object;
    if (!DecodeBytes(bytes.substr(0, length), &copy).ok()) {
      EXPECT_EQ(copy.index, 77u);
    }
  }
}

TEST(WireMessage, SurvivesEveryByteSetToAnything) {
  const std::string bytes = BytesOf(Encode<wire::MemberMessage>(SampleMessage()));
  int refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int value : {0, 1, 3, 4, 0x7f, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(value);
      wire::MemberMessageT object;
      if (!DecodeBytes(changed, &object).ok()) ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(WireMessage, SurvivesRandomBytes) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 8 == 0 ? random() : random() % 16);
    wire::MemberMessageT object;
    DecodeBytes(bytes, &object).IgnoreError();
  }
}

TEST(WireMessage, RefusesAUnionThatNamesATypeWithoutABody) {
  for (const std::uint8_t type : {1, 10, 200}) {
    flatbuffers::FlatBufferBuilder builder;
    wire::MemberMessageBuilder message(builder);
    message.add_body_type(static_cast<wire::MemberBody>(type));
    builder.Finish(message.Finish());
    wire::MemberMessageT object;
    const std::string bytes(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                            builder.GetSize());
    EXPECT_EQ(DecodeBytes(bytes, &object).code(), absl::StatusCode::kInvalidArgument) << +type;
  }
}

TEST(WireMessage, RefusesAVectorOffItsAlignment) {
  wire::StatsT stats;
  stats.stats = std::make_unique<wire::ShardStatsT>();
  stats.stats->staleness = {1, 2};
  wire::MemberMessageT message;
  message.body = BodyOf<wire::MemberBodyUnion>(std::move(stats));
  std::string bytes = BytesOf(Encode<wire::MemberMessage>(message));
  // Cut four bytes where nothing is measured across: in front of the whole, behind the root offset.
  std::uint32_t root = 0;
  std::memcpy(&root, bytes.data(), sizeof root);
  root += 4;
  std::string shifted(reinterpret_cast<const char*>(&root), sizeof root);
  shifted += std::string(4, '\0') + bytes.substr(4);
  wire::MemberMessageT object;
  EXPECT_FALSE(DecodeBytes(shifted, &object).ok());
}

TEST(WireMessage, FillsTablesThatTheSenderLeftOut) {
  wire::MemberMessageT stats;
  stats.body = BodyOf<wire::MemberBodyUnion>(wire::StatsT());
  wire::MemberMessageT object;
  ASSERT_TRUE(Decode(Encode<wire::MemberMessage>(stats), "m", &object).ok());
  EXPECT_NE(object.body.AsStats()->stats, nullptr);
  wire::ChiefMessageT changed;
  ASSERT_TRUE(
      Decode(Encode<wire::ChiefMessage>(FromChief(wire::ViewChangedT())), "m", &changed).ok());
  EXPECT_NE(changed.body.AsViewChanged()->view, nullptr);
}

}  // namespace
}  // namespace weir::rpc
