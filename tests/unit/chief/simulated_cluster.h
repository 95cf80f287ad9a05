#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "chief/logic/chief.h"

namespace weir::chief {

inline constexpr absl::Duration kTick = absl::Milliseconds(1);

/// Keeps what the logic asked for.
class RecordingOutput final : public ChiefOutput {
 public:
  void Send(SessionId to, wire::ChiefMessageT message) override {
    sent[to].push_back(std::move(message));
  }
  void CloseSession(SessionId session, absl::string_view why) override {
    closed[session] = std::string(why);
  }
  void CommitCheckpoint(CheckpointRecord record) override { commits.push_back(std::move(record)); }
  void MarkFinal(const std::string& folder) override { marked.push_back(folder); }
  void AppendMetrics(const std::string& json_line) override { metrics.push_back(json_line); }
  void Log(LogLevel level, absl::string_view text) override {
    logs.emplace_back(text);
    if (level == LogLevel::kError) errors.emplace_back(text);
  }
  void Finish(int exit_code, const std::string& reason) override {
    ++finishes;
    exit = exit_code;
    end_reason = reason;
  }

  std::map<SessionId, std::vector<wire::ChiefMessageT>> sent;
  std::map<SessionId, std::string> closed;
  std::vector<CheckpointRecord> commits;
  std::vector<std::string> marked, metrics, logs, errors;
  std::optional<int> exit;
  std::string end_reason;
  int finishes = 0;
};

inline constexpr MemberId Ps(std::uint32_t index) { return {wire::Role::Ps, index}; }
inline constexpr MemberId Worker(std::uint32_t index) { return {wire::Role::Worker, index}; }
inline constexpr MemberId Evaluator(std::uint32_t index = 0) {
  return {wire::Role::Evaluator, index};
}

/// A chief and its members on a simulated clock. Live members send a heartbeat a second.
class SimulatedCluster {
 public:
  static ChiefOptions DefaultOptions();
  explicit SimulatedCluster(ChiefOptions options = DefaultOptions());

  wire::JoinRequestT Request(MemberId id, std::uint64_t incarnation = 0) const;
  wire::JoinReplyT Join(const wire::JoinRequestT& request);
  /// Opens a session for a member that was accepted; it says of RDMA what it was told last.
  SessionId Open(MemberId id, std::uint64_t incarnation = 0);
  /// Joins, expects to be accepted, opens the session.
  SessionId Enter(MemberId id, std::uint64_t incarnation = 0);
  /// All of the options' ps and workers.
  void EnterAll();

  template <typename Message>
  void Say(MemberId id, Message message) {
    wire::MemberMessageT envelope;
    envelope.body.Set(std::move(message));
    chief->OnMessage(sessions.at(id), envelope, now);
  }
  void Train(std::uint32_t worker, std::uint64_t step, float loss);
  void Reach(std::uint64_t step, std::uint32_t ps = 0);
  void Finish(std::uint32_t worker, std::uint64_t steps = 10);
  void AnswerCheckpoint(std::uint32_t ps, bool ok = true, std::uint32_t thread = 0);
  void Commit(absl::Status status = absl::OkStatus());
  /// Every ps answers the newest TakeCheckpoint, and the commit succeeds.
  void CompleteCheckpoint();
  /// Answers every SendStats that is unanswered (at least one message).
  void AnswerStats(std::uint32_t ps, wire::ShardStatsT stats = {});
  void AnswerStatsOnce(std::uint32_t ps, wire::ShardStatsT stats);
  void Evaluated(MemberId id, std::uint64_t step, float accuracy, std::string error = "");
  void Goodbye(MemberId id, int exit_code = 0, std::string reason = "done");
  void Die(MemberId id);
  /// No more heartbeats.
  void Freeze(MemberId id) { frozen.insert(id); }

  /// Lets time pass: ticks at the exact deadlines, heartbeats each second.
  void Pass(absl::Duration time);

  /// The newest message of that kind to the member; null if none.
  const wire::ChiefMessageT* Newest(MemberId id, wire::ChiefBody kind) const;
  int CountOf(MemberId id, wire::ChiefBody kind) const;
  wire::ViewT NewestView(MemberId id) const;
  std::uint32_t NewestCheckpointId(std::uint32_t ps) const;
  bool Logged(const std::string& part) const;

  ChiefOptions options;
  RecordingOutput output;
  absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  std::unique_ptr<Chief> chief;
  std::map<MemberId, SessionId> sessions;
  std::set<MemberId> frozen;

 private:
  bool Beats(MemberId id) const;
  std::uint64_t next_session_ = 1;
  std::map<SessionId, int> stats_answered_;
  std::map<MemberId, wire::RdmaUse> told_;  // when it joined
};

}  // namespace weir::chief
