#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chief/logic/chief.h"
#include "tests/simulation/sim_committer.h"
#include "tests/simulation/sim_stream.h"
#include "tests/simulation/sim_task.h"

namespace weir::sim {

class SimCluster;
class SimMember;

/// The chief's process: the shipping logic, the sessions' chief side, the committer. What
/// chief::Service does around the logic, without its threads.
class SimChief final : public SimTask, private chief::ChiefOutput {
 public:
  SimChief(SimWorld& world, const TaskLife& who);
  ~SimChief() override;

  void Start() override;
  void OnStopSignal() override;
  void OnDeath() override;

  // What the server's threads hand over.
  wire::JoinReplyT Join(const wire::JoinRequestT& request);
  void OpenSession(const std::shared_ptr<SimStream>& stream, SimMember& member,
                   const wire::MemberMessageT& first);
  void OnMessage(chief::SessionId session, const wire::MemberMessageT& message);

  /// The data path of its run.
  SimCluster& run() { return *run_; }
  chief::Phase phase() const { return chief_->phase(); }
  /// It leads a run; before, it prepares, and nobody listens.
  bool leads() const { return chief_ != nullptr; }
  std::optional<int> result() const { return result_; }

 private:
  struct Session {
    std::shared_ptr<SimStream> stream;
    SimMember* member = nullptr;
  };

  void Send(chief::SessionId to, wire::ChiefMessageT message) override;
  void CloseSession(chief::SessionId session, absl::string_view why) override;
  void CommitCheckpoint(chief::CheckpointRecord record) override;
  void MarkFinal(const std::string& folder) override;
  void AppendMetrics(const std::string&) override {}
  void Log(LogLevel level, absl::string_view text) override;
  void Finish(int exit_code, const std::string& reason) override;

  void Prepare();
  // Every event of the logic comes this way.
  void Handle(const std::function<void(absl::Time)>& event);
  void NoticeStop();
  void ObservePhase();
  void SetAlarm();
  void PublishView(const wire::ViewT& view);

  std::unique_ptr<SimCluster> run_;
  std::unique_ptr<chief::Chief> chief_;
  SimCommitter committer_;
  std::map<chief::SessionId, Session> sessions_;
  chief::SessionId last_session_;
  std::optional<chief::Phase> seen_phase_;
  ViewNumber published_;
  std::optional<int> result_;
  std::string reason_;
  absl::Time last_look_ = absl::InfinitePast();
  absl::Time alarm_ = absl::InfiniteFuture();
};

}  // namespace weir::sim
