#include "ps_server/server.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/model/protocol.h"
#include "common/net/loopback.h"
#include "common/net/wire_message.h"
#include "gtest/gtest.h"
#include "tests/unit/ps_server/shard_fixture.h"

namespace weir::ps {
namespace {

/// What the server reported of its checkpoints. The report of one may be held back, and with it the
/// writer's thread.
class Reports {
 public:
  void Hold(std::uint32_t id) {
    MutexLock lock(&mutex_);
    held_ = id;
  }
  void LetGo() {
    MutexLock lock(&mutex_);
    held_ = 0;
    changed_.NotifyAll();
  }
  void Add(const wire::MemberBodyUnion& body) {
    const auto* done = body.AsCheckpointDone();
    if (done == nullptr) return;
    MutexLock lock(&mutex_);
    done_[done->id] = done->error;
    changed_.NotifyAll();
    while (held_ == done->id) changed_.Wait(&mutex_);
  }
  /// The error of a checkpoint's report, once it came; empty for a good one.
  std::string ErrorOf(std::uint32_t id) {
    const absl::Time give_up = MonotonicNow() + absl::Seconds(20);
    MutexLock lock(&mutex_);
    while (!done_.contains(id)) {
      if (MonotonicNow() >= give_up) return "no report came";
      changed_.WaitFor(&mutex_, absl::Milliseconds(100));
    }
    return done_[id];
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::uint32_t held_ = 0;
  std::map<std::uint32_t, std::string> done_;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    std::filesystem::create_directories(folder_);
    auto server = Server::Create(
        layout_,
        {.shard = {.max_workers = 2, .max_steps = Step(1), .has_step_counter = true},
         .transport_kind = "loopback"},
        fabric_->CreateTransport(),
        [](const Block&, std::span<float> values) {
          std::ranges::fill(values, 0.0F);
          return absl::OkStatus();
        },
        [this](wire::MemberBodyUnion body) { reports_.Add(body); });
    server_ = *std::move(server);
  }
  ~ServerTest() override {
    reports_.LetGo();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  std::string FolderOf(int step) { return folder_ + "/step-0000000" + std::to_string(step); }

  const std::string folder_ =
      ::testing::TempDir() + "/weir-server-test-" + std::to_string(RandomId());
  static constexpr int kBlocks = 100;
  static constexpr std::size_t kInbox = 64;
  const Layout layout_ = MakeLayout(std::vector<std::int64_t>(kBlocks, 4), 1);
  const std::shared_ptr<net::LoopbackFabric> fabric_ = net::LoopbackFabric::Create(kInbox);
  Reports reports_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, CheckpointsFollowEachOther) {
  for (int id = 1; id <= 3; ++id) {
    server_->TakeCheckpoint(static_cast<std::uint32_t>(id), FolderOf(id));
    EXPECT_EQ(reports_.ErrorOf(static_cast<std::uint32_t>(id)), "");
  }
}

// A chief that gives up on a checkpoint asks for the next while the first is still written.
TEST_F(ServerTest, CheckpointWaitsForOneThatIsStillWritten) {
  reports_.Hold(1);
  server_->TakeCheckpoint(1, FolderOf(1));
  EXPECT_EQ(reports_.ErrorOf(1), "");  // the writer is held there
  server_->TakeCheckpoint(2, FolderOf(2));
  server_->TakeCheckpoint(3, FolderOf(3));
  server_->TakeCheckpoint(4, FolderOf(4));
  EXPECT_EQ(reports_.ErrorOf(3), "a later one was asked for before its turn came");
  reports_.LetGo();
  EXPECT_EQ(reports_.ErrorOf(2), "");
  EXPECT_EQ(reports_.ErrorOf(4), "");
  EXPECT_FALSE(std::filesystem::exists(FolderOf(3)));
  server_->TakeCheckpoint(5, FolderOf(5));
  EXPECT_EQ(reports_.ErrorOf(5), "");
}

constexpr std::size_t kMemoryBytes = 64;

/// A worker's side of a connection, by hand.
class FakeWorker final : public net::TransportEvents {
 public:
  FakeWorker(net::LoopbackFabric& fabric, Server& server, const Layout& layout, std::uint32_t index)
      : FakeWorker(fabric, server, layout, index, kIncarnation[index]) {}
  FakeWorker(net::LoopbackFabric& fabric, Server& server, const Layout& layout, std::uint32_t index,
             Incarnation incarnation)
      : index_(index), incarnation_(incarnation), transport_(fabric.CreateTransport()) {
    wire::ConnectRequestT request;
    request.protocol = kProtocolVersion;
    request.transport = "loopback";
    request.worker = index;
    request.incarnation = incarnation.value();
    request.layout_fingerprint = layout.fingerprint();
    const std::string address = transport_->address();
    request.data_address.assign(address.begin(), address.end());
    const wire::ConnectReplyT reply = server.Connect(request);
    EXPECT_TRUE(reply.accepted) << reply.reason;
    session_ = reply.session;
    peer_ = *transport_->Connect(std::string(reply.data_address.begin(), reply.data_address.end()),
                                 "the server");
  }

  /// Each block of this pull is answered by a message that refuses it.
  void PullInAnotherView(std::uint32_t blocks) { Pull(99, blocks); }
  void Pull(std::uint32_t view, std::uint32_t blocks) {
    Send(wire::MessageType::PullRequest,
         wire::PullRequest(session_, incarnation_.value(), ++request_, view, 0, blocks,
                           static_cast<std::uint16_t>(index_), 0),
         {});
  }
  void ReadAll() {
    while (transport_->Progress(*this)) {
    }
  }
  /// The server has handled all that anybody sent it before.
  void RoundTrip() {
    const std::size_t before = answers_;
    PullInAnotherView(1);
    AwaitMoreThan(before);
  }
  /// What a pull in the server's own view is answered.
  wire::Code CodeOfPull(std::uint32_t view) {
    const std::size_t before = answers_;
    Pull(view, 1);
    AwaitMoreThan(before);
    return code_;
  }
  void AwaitMoreThan(std::size_t before) {
    const absl::Time give_up = MonotonicNow() + absl::Seconds(20);
    while (answers_ == before && MonotonicNow() < give_up) {
      if (!transport_->Progress(*this)) transport_->Wait(absl::Milliseconds(100));
    }
    ASSERT_GT(answers_, before);
  }
  std::size_t answers() const { return answers_; }

  // Memory of its own.
  void Fill(float value) {
    std::fill_n(reinterpret_cast<float*>(memory_->bytes().data()), kMemoryBytes / sizeof(float),
                value);
  }
  const std::string& key() const { return memory_->remote_key(); }
  void Export(std::uint64_t name, std::uint64_t bytes, const std::string& key,
              wire::MemoryAccess access = wire::MemoryAccess::Map) {
    Send(wire::MessageType::ExportMemory,
         wire::ExportMemory(session_, name, bytes, static_cast<std::uint8_t>(access), 0, 0, 0),
         std::as_bytes(std::span(key)));
  }
  /// Of block 0, each time the next one.
  void Push(wire::PushSource source, ByteSpan payload) {
    Send(wire::MessageType::PushBlock,
         wire::PushBlock(session_, incarnation_.value(), ++sequence_, 0, 1, 1, 0, 1, 1,
                         static_cast<std::uint16_t>(index_), 0, static_cast<std::uint8_t>(source)),
         payload);
  }
  ByteSpan HalfAPlace() const { return AsBytes(where_).first(sizeof(where_) - 1); }
  void PushFrom(std::uint64_t name, std::uint64_t offset) {
    where_ = wire::GradientPlace(name, offset);
    Push(wire::PushSource::Memory, AsBytes(where_));
  }
  /// The codes of what its pushes were answered.
  const std::vector<wire::Code>& acknowledged() const { return acknowledged_; }
  /// And its announcements.
  const std::vector<wire::MapOutcome>& mapped() const { return mapped_; }
  std::size_t blocks() const { return blocks_; }
  /// Of the last block that it pulled.
  float first_value() const { return first_value_; }

  void OnMessage(std::uint8_t type, ByteSpan header, ByteSpan payload) override {
    ++answers_;
    switch (static_cast<wire::MessageType>(type)) {
      case wire::MessageType::PullBlock:
        ++blocks_;
        code_ = net::ReadHeader<wire::PullBlock>(header)->code();
        if (payload.size() >= sizeof(float)) {
          std::memcpy(&first_value_, payload.data(), sizeof(float));
        }
        return;
      case wire::MessageType::PushAck:
        return acknowledged_.push_back(net::ReadHeader<wire::PushAck>(header)->code());
      case wire::MessageType::MemoryMapped:
        return mapped_.push_back(net::ReadHeader<wire::MemoryMapped>(header)->outcome());
      default:
        return;
    }
  }
  void OnSent(net::SendToken, const absl::Status&) override {}
  void OnPeerDown(net::PeerId, const absl::Status&) override {}

 private:
  template <typename Header>
  void Send(wire::MessageType type, const Header& header, ByteSpan payload) {
    transport_->Send(peer_, static_cast<std::uint8_t>(type), AsBytes(header), payload, nullptr,
                     net::SendToken(0));
  }

  const std::uint32_t index_;
  const Incarnation incarnation_;
  const std::unique_ptr<net::Transport> transport_;
  const std::unique_ptr<net::Memory> memory_ = *transport_->Allocate(kMemoryBytes);
  std::uint64_t session_ = 0;
  net::PeerId peer_;
  std::uint64_t request_ = 0;
  std::size_t answers_ = 0;
  wire::Code code_ = wire::Code::Ok;
  std::size_t blocks_ = 0;
  float first_value_ = 0;
  std::uint64_t sequence_ = 0;
  wire::GradientPlace where_;
  std::vector<wire::Code> acknowledged_;
  std::vector<wire::MapOutcome> mapped_;
};

wire::ViewT ViewOf(std::uint32_t number, const std::vector<Incarnation>& workers) {
  wire::ViewT view;
  view.number = number;
  for (std::uint32_t index = 0; index < workers.size(); ++index) {
    view.members.push_back(std::make_unique<wire::MemberT>());
    view.members.back()->role = wire::Role::Worker;
    view.members.back()->index = index;
    view.members.back()->incarnation = workers[index].value();
    view.members.back()->state = "joined";
  }
  return view;
}

TEST_F(ServerTest, LateMessagesOfAClosedConnectionAreNoStrangers) {
  server_->OnView(ViewOf(1, {kIncarnation[0], kIncarnation[1]}));
  FakeWorker before(*fabric_, *server_, layout_, 0);
  FakeWorker after(*fabric_, *server_, layout_, 0);
  FakeWorker other(*fabric_, *server_, layout_, 1);
  before.PullInAnotherView(1);
  before.PullInAnotherView(1);
  other.RoundTrip();
  EXPECT_EQ(server_->strangers_messages(), 0U);
  before.ReadAll();
  EXPECT_EQ(before.answers(), 0U);
  after.RoundTrip();
}

TEST_F(ServerTest, WorkerThatDoesNotReadItsAnswersIsCutOff) {
  server_->OnView(ViewOf(1, {kIncarnation[0], kIncarnation[1]}));
  FakeWorker deaf(*fabric_, *server_, layout_, 0);
  FakeWorker other(*fabric_, *server_, layout_, 1);
  // 6000 answers: 64 lie in its inbox, the others wait at the server, up to a limit.
  for (int i = 0; i < 60; ++i) deaf.PullInAnotherView(kBlocks);
  other.RoundTrip();
  deaf.ReadAll();
  other.RoundTrip();
  deaf.ReadAll();
  EXPECT_EQ(deaf.answers(), kInbox) << "the rest was dropped with the connection";
  FakeWorker again(*fabric_, *server_, layout_, 0);
  again.RoundTrip();
}

// A worker that lives on after it was declared dead must hear so, not just lose its connection.
TEST_F(ServerTest, AReplacedWorkerHearsThatItIsFenced) {
  server_->OnView(ViewOf(1, {kIncarnation[0], kIncarnation[1]}));
  FakeWorker old(*fabric_, *server_, layout_, 0);
  EXPECT_EQ(old.CodeOfPull(1), wire::Code::Ok);
  const Incarnation next(kIncarnation[0].value() + 100);
  server_->OnView(ViewOf(2, {next, kIncarnation[1]}));
  FakeWorker other(*fabric_, *server_, layout_, 1);
  other.RoundTrip();  // the view has been taken
  EXPECT_EQ(old.CodeOfPull(2), wire::Code::Fenced);
  FakeWorker replacement(*fabric_, *server_, layout_, 0, next);
  EXPECT_EQ(old.CodeOfPull(2), wire::Code::Fenced);
  EXPECT_EQ(replacement.CodeOfPull(2), wire::Code::Ok);
}

/// Gradients in memory of workers, as it is mapped or read from afar.
class ExportTest : public ServerTest, public ::testing::WithParamInterface<wire::MemoryAccess> {};

INSTANTIATE_TEST_SUITE_P(To, ExportTest,
                         ::testing::Values(wire::MemoryAccess::Map, wire::MemoryAccess::Read),
                         [](const auto& info) {
                           return std::string(wire::EnumNameMemoryAccess(info.param));
                         });

TEST_P(ExportTest, AppliesAGradientFromTheMemoryOfItsWorker) {
  server_->OnView(ViewOf(1, {kIncarnation[0], kIncarnation[1]}));
  FakeWorker worker(*fabric_, *server_, layout_, 0);
  worker.Export(5, kMemoryBytes, worker.key(), GetParam());
  worker.AwaitMoreThan(0);
  EXPECT_EQ(worker.mapped(), std::vector{wire::MapOutcome::Mapped});
  // An acknowledgement gives the memory back.
  constexpr int kPushes = 50;
  for (int i = 1; i <= kPushes; ++i) {
    worker.Fill(-static_cast<float>(i));
    worker.PushFrom(5, kMemoryBytes - 16);
    worker.AwaitMoreThan(worker.answers());
  }
  EXPECT_EQ(worker.acknowledged(), std::vector(kPushes, wire::Code::Ok));
  EXPECT_EQ(worker.CodeOfPull(1), wire::Code::Ok);
  EXPECT_NEAR(worker.first_value(), 0.1 * kPushes * (kPushes + 1) / 2, 1e-3);
}

TEST_P(ExportTest, MemoryThatCannotBeMappedIsNoLie) {
  server_->OnView(ViewOf(1, {kIncarnation[0], kIncarnation[1]}));
  FakeWorker worker(*fabric_, *server_, layout_, 0);
  worker.Export(6, kMemoryBytes + 1, worker.key(), GetParam());  // it is not that long
  worker.AwaitMoreThan(0);
  EXPECT_EQ(worker.mapped(), std::vector{wire::MapOutcome::Refused});
  EXPECT_EQ(worker.CodeOfPull(1), wire::Code::Ok);
}

// Each ends its own connection, and nobody else's.
TEST_P(ExportTest, ALieAboutMemoryClosesTheConnectionOfWhoTellsIt) {
  server_->OnView(ViewOf(1, {kIncarnation[0], kIncarnation[1]}));
  FakeWorker other(*fabric_, *server_, layout_, 1);
  const std::map<std::string, std::function<void(FakeWorker&)>> lies = {
      {"of a push", [](FakeWorker& w) { w.PushFrom(6, 0); }},
      {"of where", [](FakeWorker& w) { w.PushFrom(5, 2); }},
      {"of how much", [](FakeWorker& w) { w.PushFrom(5, kMemoryBytes - 12); }},
      {"of far away", [](FakeWorker& w) { w.PushFrom(5, ~std::uint64_t{0} - 3); }},
      {"of nothing", [](FakeWorker& w) { w.Push(wire::PushSource::Memory, {}); }},
      {"of elsewhere", [](FakeWorker& w) { w.Push(static_cast<wire::PushSource>(2), {}); }},
      {"of half a place", [](FakeWorker& w) { w.Push(wire::PushSource::Memory, w.HalfAPlace()); }},
      {"of use",
       [](FakeWorker& w) {
         w.Export(7, kMemoryBytes, w.key(), static_cast<wire::MemoryAccess>(2));
       }},
      {"of size", [](FakeWorker& w) { w.Export(7, std::uint64_t{1} << 60, w.key()); }},
      {"of no name", [](FakeWorker& w) { w.Export(0, kMemoryBytes, w.key()); }},
      {"of old news", [](FakeWorker& w) { w.Export(5, kMemoryBytes, w.key()); }},
  };
  for (const auto& [what, lie] : lies) {
    SCOPED_TRACE("a lie " + what);
    FakeWorker liar(*fabric_, *server_, layout_, 0);
    liar.Export(5, kMemoryBytes, liar.key(), GetParam());
    liar.AwaitMoreThan(0);
    ASSERT_EQ(liar.mapped(), std::vector{wire::MapOutcome::Mapped});
    lie(liar);
    liar.Pull(1, 1);
    other.RoundTrip();
    liar.ReadAll();
    EXPECT_EQ(liar.blocks(), 0U) << "it is still served";
    for (const wire::Code code : liar.acknowledged()) EXPECT_EQ(code, wire::Code::Invalid);
    EXPECT_EQ(other.CodeOfPull(1), wire::Code::Ok);
  }
}

TEST_F(ServerTest, StopsWhileACheckpointWaits) {
  reports_.Hold(1);
  server_->TakeCheckpoint(1, FolderOf(1));
  EXPECT_EQ(reports_.ErrorOf(1), "");
  server_->TakeCheckpoint(2, FolderOf(2));
  server_->TakeCheckpoint(3, FolderOf(3));
  reports_.LetGo();
  server_->Stop();
}

}  // namespace
}  // namespace weir::ps
