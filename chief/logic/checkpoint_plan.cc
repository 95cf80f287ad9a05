#include "chief/logic/checkpoint_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace weir::chief {
namespace {

StoredShard Stored(ShardId id, const wire::CheckpointDoneT& done) {
  StoredShard shard;
  shard.shard = id;
  shard.file = done.file;
  shard.file_bytes = done.file_bytes;
  shard.worker_clocks = done.worker_clocks;
  for (const auto& entry : done.entries) {
    shard.parts.push_back({entry->tensor, entry->offset, entry->elements, entry->checksum});
  }
  return shard;
}

}  // namespace

std::string CheckpointFolder(Step step) { return absl::StrFormat("step-%08d", step.value()); }

CheckpointPlan::CheckpointPlan(const ChiefOptions& options)
    : options_(options), tried_step_(options.start_step) {
  if (!options.resume_checkpoint.empty()) {
    saved_ = Saved{options.resume_checkpoint, options.start_step, options.resume_is_final};
  }
}

void CheckpointPlan::StartTraining(absl::Time now) {
  if (options_.save_checkpoints_secs > absl::ZeroDuration()) {
    next_save_ = now + options_.save_checkpoints_secs;
  }
}

bool CheckpointPlan::Due(Step step, absl::Time now) {
  if (!idle()) return false;
  if (now >= next_save_ && step == tried_step_) {
    next_save_ = now + options_.save_checkpoints_secs;  // nothing new to save
  }
  if (step == tried_step_) return false;
  const bool by_steps = options_.save_checkpoints_steps > 0 &&
                        step.value() - tried_step_.value() >= options_.save_checkpoints_steps;
  return by_steps || now >= next_save_;
}

wire::TakeCheckpointT CheckpointPlan::Begin(Step step, bool is_final,
                                            const std::set<std::uint32_t>& ps, absl::Time now) {
  ++id_;
  stage_ = Stage::kWriting;
  record_ = {CheckpointFolder(step), step, is_final, {}};
  awaited_.clear();
  for (const std::uint32_t index : ps) {
    for (std::uint32_t thread = 0; thread < options_.ps_threads; ++thread) {
      awaited_.insert({index, thread});
    }
  }
  parts_.clear();
  failure_.clear();
  limit_ = now + options_.checkpoint_limit;
  tried_step_ = step;
  if (options_.save_checkpoints_secs > absl::ZeroDuration()) {
    next_save_ = now + options_.save_checkpoints_secs;
  }
  wire::TakeCheckpointT take;
  take.id = id_;
  take.folder = record_.folder;
  take.step = step.value();
  return take;
}

CheckpointPlan::Answer CheckpointPlan::OnDone(ShardId shard, const wire::CheckpointDoneT& done) {
  if (done.id == 0 || done.id > id_) return Answer::kNonsense;
  if (done.id < id_ || stage_ != Stage::kWriting) {
    const bool repeated = done.id == id_ && parts_.contains(shard);
    return repeated ? Answer::kNonsense : Answer::kIgnored;
  }
  if (awaited_.erase(shard) == 0) return Answer::kNonsense;
  if (!done.ok) {
    Abandon(absl::StrCat(NameOf(shard), " could not write its part of ", record_.folder, ": ",
                         done.error));
    return Answer::kFailed;
  }
  parts_.emplace(shard, Stored(shard, done));
  return awaited_.empty() ? Answer::kComplete : Answer::kPending;
}

CheckpointRecord CheckpointPlan::TakeRecord() {
  stage_ = Stage::kCommitting;
  for (auto& [shard, part] : parts_) record_.shards.push_back(std::move(part));
  return record_;
}

void CheckpointPlan::OnCommitted(bool ok) {
  if (stage_ != Stage::kCommitting) return;
  stage_ = Stage::kIdle;
  if (ok) saved_ = Saved{record_.folder, record_.step, record_.is_final};
}

bool CheckpointPlan::OnPsLost(std::uint32_t ps) {
  const bool owes = std::ranges::find(awaited_, ps, &ShardId::ps) != awaited_.end();
  if (stage_ != Stage::kWriting || !owes) return false;
  Abandon(absl::StrCat("ps ", ps, " was lost before it had written its part of ", record_.folder));
  return true;
}

bool CheckpointPlan::AbandonOverdue(absl::Time now) {
  // A commit is never abandoned: its outcome would be unknown.
  if (stage_ != Stage::kWriting || now < limit_) return false;
  Abandon(absl::StrCat("gave up waiting for ", Waiting(), " after ",
                       absl::FormatDuration(options_.checkpoint_limit)));
  return true;
}

void CheckpointPlan::Abandon(std::string why) {
  stage_ = Stage::kIdle;
  awaited_.clear();
  parts_.clear();
  failure_ = std::move(why);
}

std::string CheckpointPlan::Waiting() const {
  if (stage_ == Stage::kIdle) return "";
  if (stage_ == Stage::kCommitting) return absl::StrCat("the manifest of ", record_.folder);
  const auto name = [this](std::string* text, ShardId shard) { *text += NameOf(shard); };
  return absl::StrCat(absl::StrJoin(awaited_, ", ", name), "'s part of ", record_.folder);
}

std::string CheckpointPlan::NameOf(ShardId shard) const {
  if (options_.ps_threads == 1) return absl::StrCat("ps ", shard.ps);
  return absl::StrCat("ps ", shard.ps, " thread ", shard.thread);
}

}  // namespace weir::chief
