#include "ps_server/server.h"

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/net/loopback.h"
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
        layout_, {.shard = {.max_workers = 1, .max_steps = Step(1), .has_step_counter = true}},
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
  const Layout layout_ = MakeLayout({4, 3, 2}, 1);
  const std::shared_ptr<net::LoopbackFabric> fabric_ = net::LoopbackFabric::Create();
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
