#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "chief/logic/checkpoint_record.h"
#include "chief/logic/chief_options.h"
#include "common/base/ids.h"
#include "schemas/chief_generated.h"

namespace weir::chief {

/// "step-00001200".
std::string CheckpointFolder(Step step);

/// When to save, and the one checkpoint that is being made: first every shard writes its file,
/// then the manifest is committed. A checkpoint whose shard failed is abandoned whole.
class CheckpointPlan {
 public:
  struct Saved {
    std::string folder;
    Step step;
    bool is_final = false;
  };

  explicit CheckpointPlan(const ChiefOptions& options);

  /// Steps and seconds between checkpoints count from here.
  void StartTraining(absl::Time now);
  /// A periodic checkpoint should be begun now.
  bool Due(Step step, absl::Time now);
  /// When Due may turn true without a new step.
  absl::Time next_save() const { return next_save_; }
  /// When AbandonOverdue may turn true.
  absl::Time next_limit() const {
    return stage_ == Stage::kWriting ? limit_ : absl::InfiniteFuture();
  }

  bool idle() const { return stage_ == Stage::kIdle; }
  /// Requires idle(). The message goes to every shard of `ps` (not empty).
  wire::TakeCheckpointT Begin(Step step, bool is_final, const std::set<std::uint32_t>& ps,
                              absl::Time now);

  enum class Answer { kIgnored, kPending, kComplete, kFailed, kNonsense };
  /// One shard's answer. kComplete: every shard's file is durable, `TakeRecord` is due. kFailed:
  /// the checkpoint was abandoned, `failure` says why. kIgnored: of one abandoned earlier.
  /// kNonsense: not an answer to what this shard was asked.
  Answer OnDone(ShardId shard, const wire::CheckpointDoneT& done);
  CheckpointRecord TakeRecord();
  /// The commit's outcome, of the record taken last.
  void OnCommitted(bool ok);
  /// The ps will never answer. True if a checkpoint was abandoned for it.
  bool OnPsLost(std::uint32_t ps);
  /// Abandons a checkpoint that took longer than its limit. True if it did.
  bool AbandonOverdue(absl::Time now);

  const std::string& failure() const { return failure_; }
  /// What the current checkpoint waits for: "ps 1's part of step-00000200".
  std::string Waiting() const;
  const std::optional<Saved>& last_saved() const { return saved_; }
  void MarkSavedFinal() { saved_->is_final = true; }

 private:
  enum class Stage { kIdle, kWriting, kCommitting };
  void Abandon(std::string why);
  /// "ps 1", or "ps 1 thread 0" where there are several.
  std::string NameOf(ShardId shard) const;

  const ChiefOptions& options_;
  Stage stage_ = Stage::kIdle;
  std::uint32_t id_ = 0;
  CheckpointRecord record_;
  std::set<ShardId> awaited_;
  std::map<ShardId, StoredShard> parts_;
  absl::Time limit_ = absl::InfiniteFuture();
  std::string failure_;

  std::optional<Saved> saved_;
  Step tried_step_;  // of the last attempt, good or bad, or of the start
  absl::Time next_save_ = absl::InfiniteFuture();
};

}  // namespace weir::chief
