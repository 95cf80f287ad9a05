// What the chief tells about the job: the status snapshot and the summary.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "chief/logic/chief.h"

namespace weir::chief {
namespace {

std::string StateText(const MemberRecord& record) {
  switch (record.state) {
    case MemberState::kJoined:
      return "joining";
    case MemberState::kLive:
      return "joined";
    case MemberState::kLost:
      return "lost";
    case MemberState::kLeft:
      return "left";
  }
  return "unknown";
}

std::unique_ptr<wire::MemberT> MemberOf(const MemberRecord& record) {
  auto member = std::make_unique<wire::MemberT>();
  member->role = record.id.role;
  member->index = record.id.index;
  member->incarnation = record.incarnation.value();
  member->pid = record.pid;
  member->address = record.address;
  member->state = StateText(record);
  return member;
}

/// The chief holds no lease of its own: it is there while it answers.
std::unique_ptr<wire::MemberStatusT> ChiefItself(const ChiefOptions& options) {
  auto status = std::make_unique<wire::MemberStatusT>();
  status->member = std::make_unique<wire::MemberT>();
  status->member->role = wire::Role::Chief;
  status->member->incarnation = options.incarnation;
  status->member->pid = options.pid;
  status->member->address = options.address;
  status->member->state = "joined";
  return status;
}

}  // namespace

wire::StatusReplyT Chief::BuildStatus(absl::Time now) const {
  wire::StatusReplyT status;
  status.job = options_.job;
  status.mode = options_.mode;
  status.phase = std::string(PhaseText(phase_));
  status.global_step = progress_.global_step().value();
  status.max_steps = options_.max_steps.value();
  status.loss = progress_.mean_loss().value_or(0.0F);
  status.steps_per_second = static_cast<float>(progress_.steps_per_second(now));
  if (const auto eta = progress_.time_left(); eta.has_value())
    status.eta_seconds = static_cast<float>(absl::ToDoubleSeconds(*eta));
  status.view = membership_.view().value();
  status.members.push_back(ChiefItself(options_));
  for (const auto& [id, record] : membership_.members()) {
    auto member = std::make_unique<wire::MemberStatusT>();
    member->member = MemberOf(record);
    member->path = stats_.PathsOf(id);
    const absl::Duration left = record.present() ? record.lease_until - now : absl::ZeroDuration();
    member->lease_left_ms =
        static_cast<std::int32_t>(std::max<std::int64_t>(0, absl::ToInt64Milliseconds(left)));
    if (const auto* line = progress_.Find(id.index);
        id.role == wire::Role::Worker && line != nullptr) {
      member->last_step = line->step;
      member->last_loss = line->loss;
      member->steps_per_second = line->steps_per_second;
    }
    status.members.push_back(std::move(member));
  }
  for (const PathTaken& path : stats_.paths()) {
    status.paths.push_back(absl::StrCat(path.from, " -> ", path.to, ": ", path.path));
  }
  const StalenessFigures staleness = stats_.staleness();
  status.staleness_p50 = static_cast<std::uint32_t>(staleness.p50);
  status.staleness_p99 = static_cast<std::uint32_t>(staleness.p99);
  status.staleness_max = static_cast<std::uint32_t>(staleness.max);
  status.rdma = rdma_.verdict().use;
  status.no_rdma = rdma_.verdict().why_unused;
  if (plan_.last_saved().has_value()) status.last_checkpoint = plan_.last_saved()->folder;
  return status;
}

Summary Chief::BuildSummary(absl::Time now) const {
  Summary summary;
  summary.job = options_.job;
  summary.mode = options_.mode;
  summary.ps = options_.ps.size();
  summary.workers = options_.workers.size();
  summary.global_step = progress_.global_step().value();
  summary.wall_seconds = absl::ToDoubleSeconds(std::min(now, finished_at_) - started_);
  summary.train_seconds = stats_.train_seconds();
  if (summary.train_seconds > 0) {
    summary.steps_per_second =
        static_cast<double>(stats_.completed_steps()) / summary.train_seconds;
    summary.examples_per_second = summary.steps_per_second * options_.batch_size;
  }
  summary.final_loss = progress_.mean_loss();
  summary.test_accuracy = evaluations_.accuracy();
  summary.paths = stats_.paths();
  summary.rdma = rdma_.verdict().use == wire::RdmaUse::Used;
  summary.no_rdma = rdma_.verdict().why_unused;
  summary.pushes = stats_.pushes();
  summary.staleness = stats_.staleness();
  summary.bytes = stats_.bytes();
  summary.phases = stats_.phases();
  MemberSummary self{"chief", 0, options_.pid, std::nullopt, std::nullopt};
  if (phase_ == Phase::kDone) self.exit_code = exit_code_;
  summary.members.push_back(self);
  for (const auto& [id, record] : membership_.members()) {
    summary.members.push_back({std::string(RoleText(id.role)), id.index, record.pid,
                               record.exit_code, record.peak_rss_bytes});
  }
  if (plan_.last_saved().has_value()) summary.checkpoint = plan_.last_saved()->folder;
  return summary;
}

}  // namespace weir::chief
