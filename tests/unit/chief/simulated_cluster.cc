#include "tests/unit/chief/simulated_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::chief {

ChiefOptions SimulatedCluster::DefaultOptions() {
  ChiefOptions options;
  options.ps = {0, 1};
  options.workers = {0, 1};
  options.address = "host:1000";
  options.incarnation = 7;
  options.pid = 70;
  options.protocol = 1;
  options.job = "job";
  options.job_fingerprint = 5;
  options.job_settings = "batch 32";
  options.model_dir_nonce = "nonce";
  options.max_steps = Step(100);
  options.batch_size = 32;
  options.log_step_count_steps = 10;
  return options;
}

SimulatedCluster::SimulatedCluster(ChiefOptions given) : options(std::move(given)) {
  chief = std::make_unique<Chief>(options, output);
  chief->Start(now);
}

wire::JoinRequestT SimulatedCluster::Request(MemberId id, std::uint64_t incarnation) const {
  wire::JoinRequestT request;
  request.protocol = options.protocol;
  request.ucx_version = id.role == wire::Role::Evaluator ? "" : "1.13.1";
  request.role = id.role;
  request.index = id.index;
  request.incarnation = incarnation != 0 ? incarnation : 1000 + id.index;
  request.pid = 100 + 10 * static_cast<std::uint32_t>(id.role) + id.index;
  request.address = "host:" + std::to_string(2000 + request.pid);
  request.job = options.job;
  request.job_fingerprint = options.job_fingerprint;
  request.job_settings = options.job_settings;
  return request;
}

wire::JoinReplyT SimulatedCluster::Join(const wire::JoinRequestT& request) {
  wire::JoinReplyT reply = chief->OnJoin(request, now);
  told_[{request.role, request.index}] = reply.rdma;
  return reply;
}

SessionId SimulatedCluster::Open(MemberId id, std::uint64_t incarnation) {
  const SessionId session(next_session_++);
  wire::MemberMessageT first;
  first.role = id.role;
  first.index = id.index;
  first.incarnation = incarnation != 0 ? incarnation : 1000 + id.index;
  first.rdma = told_[id];
  first.body.Set(wire::HeartbeatT());
  sessions[id] = session;
  chief->OnSessionOpened(session, first, now);
  return session;
}

SessionId SimulatedCluster::Enter(MemberId id, std::uint64_t incarnation) {
  const wire::JoinReplyT reply = Join(Request(id, incarnation));
  EXPECT_EQ(reply.outcome, wire::JoinOutcome::Accepted) << id.ToString() << ": " << reply.reason;
  return Open(id, incarnation);
}

void SimulatedCluster::EnterAll() {
  for (std::uint32_t ps : options.ps) Enter(Ps(ps));
  for (std::uint32_t worker : options.workers) Enter(Worker(worker));
}

void SimulatedCluster::Train(std::uint32_t worker, std::uint64_t step, float loss) {
  wire::TrainingLineT line;
  line.step = step;
  line.loss = loss;
  Say(Worker(worker), line);
}

void SimulatedCluster::Reach(std::uint64_t step, std::uint32_t ps) {
  wire::StepReachedT reached;
  reached.step = step;
  Say(Ps(ps), reached);
}

void SimulatedCluster::Finish(std::uint32_t worker, std::uint64_t steps) {
  wire::FinishedT finished;
  finished.steps = steps;
  finished.final_loss = 0.25F;
  finished.reason = "no step is left";
  Say(Worker(worker), std::move(finished));
}

void SimulatedCluster::AnswerCheckpoint(std::uint32_t ps, bool ok, std::uint32_t thread) {
  wire::CheckpointDoneT done;
  done.id = NewestCheckpointId(ps);
  done.thread = thread;
  done.ok = ok;
  if (!ok) done.error = "No space left on device";
  if (ok) {
    done.file = "shard-" + std::to_string(ps) + "-of-2.safetensors";
    done.file_bytes = 100 + ps;
    done.entries.push_back(std::make_unique<wire::ShardFileEntryT>());
    done.entries[0]->tensor = "w" + std::to_string(ps);
    done.entries[0]->elements = 4;
    done.entries[0]->checksum = 99;
    done.worker_clocks = {3, 4};
  }
  Say(Ps(ps), std::move(done));
}

void SimulatedCluster::Commit(absl::Status status) { chief->OnCheckpointCommitted(status, now); }

void SimulatedCluster::CompleteCheckpoint() {
  const std::size_t before = output.commits.size();
  for (std::uint32_t ps : options.ps) AnswerCheckpoint(ps);
  ASSERT_EQ(output.commits.size(), before + 1);
  Commit();
}

void SimulatedCluster::AnswerStats(std::uint32_t ps, wire::ShardStatsT stats) {
  const SessionId session = sessions.at(Ps(ps));
  do {
    AnswerStatsOnce(ps, stats);
  } while (stats_answered_[session] < CountOf(Ps(ps), wire::ChiefBody::SendStats));
}

void SimulatedCluster::AnswerStatsOnce(std::uint32_t ps, wire::ShardStatsT stats) {
  ++stats_answered_[sessions.at(Ps(ps))];
  wire::StatsT answer;
  answer.stats = std::make_unique<wire::ShardStatsT>(std::move(stats));
  Say(Ps(ps), std::move(answer));
}

void SimulatedCluster::Evaluated(MemberId id, std::uint64_t step, float accuracy,
                                 std::string error) {
  wire::EvaluationDoneT done;
  done.step = step;
  done.accuracy = accuracy;
  done.loss = 0.5F;
  done.examples = 1000;
  done.error = std::move(error);
  Say(id, std::move(done));
}

void SimulatedCluster::Goodbye(MemberId id, int exit_code, std::string reason) {
  wire::GoodbyeT goodbye;
  goodbye.exit_code = exit_code;
  goodbye.reason = std::move(reason);
  goodbye.peak_rss_bytes = 4096;
  Say(id, std::move(goodbye));
  Die(id);
}

void SimulatedCluster::Die(MemberId id) {
  const SessionId session = sessions.at(id);
  sessions.erase(id);
  chief->OnSessionClosed(session, "its process ended", now);
}

bool SimulatedCluster::Beats(MemberId id) const {
  return !frozen.contains(id) && !output.closed.contains(sessions.at(id));
}

void SimulatedCluster::Pass(absl::Duration time) {
  const absl::Time end = now + time;
  absl::Time next_beat = now + absl::Seconds(1);
  while (now < end) {
    const absl::Time next = std::min({end, next_beat, chief->next_deadline()});
    ASSERT_GE(next, now) << "a deadline lies in the past: the chief would spin";
    now = next;
    if (now >= next_beat) {
      next_beat += absl::Seconds(1);
      const auto members = sessions;
      for (const auto& [id, session] : members) {
        if (Beats(id)) Say(id, wire::HeartbeatT());
      }
    }
    chief->OnTick(now);
    ASSERT_GT(chief->next_deadline(), now) << "a tick left its deadline: the chief would spin";
  }
}

const wire::ChiefMessageT* SimulatedCluster::Newest(MemberId id, wire::ChiefBody kind) const {
  const auto session = sessions.find(id);
  if (session == sessions.end()) return nullptr;
  const auto found = output.sent.find(session->second);
  if (found == output.sent.end()) return nullptr;
  for (auto message = found->second.rbegin(); message != found->second.rend(); ++message) {
    if (message->body.type == kind) return &*message;
  }
  return nullptr;
}

int SimulatedCluster::CountOf(MemberId id, wire::ChiefBody kind) const {
  const auto found = output.sent.find(sessions.at(id));
  if (found == output.sent.end()) return 0;
  return static_cast<int>(
      std::count_if(found->second.begin(), found->second.end(),
                    [kind](const auto& message) { return message.body.type == kind; }));
}

wire::ViewT SimulatedCluster::NewestView(MemberId id) const {
  const auto* message = Newest(id, wire::ChiefBody::ViewChanged);
  if (message == nullptr) return {};
  return *message->body.AsViewChanged()->view;
}

std::uint32_t SimulatedCluster::NewestCheckpointId(std::uint32_t ps) const {
  const auto* message = Newest(Ps(ps), wire::ChiefBody::TakeCheckpoint);
  return message == nullptr ? 0 : message->body.AsTakeCheckpoint()->id;
}

bool SimulatedCluster::Logged(const std::string& part) const {
  return std::any_of(output.logs.begin(), output.logs.end(), [&part](const std::string& line) {
    return line.find(part) != std::string::npos;
  });
}

}  // namespace weir::chief
