#pragma once

#include <optional>
#include <set>

#include "chief/logic/membership.h"
#include "common/base/ids.h"
#include "schemas/chief_generated.h"

namespace weir::chief {

/// Who evaluates, and what came of it. Of several evaluators the one that came first evaluates;
/// the others stand by.
class Evaluations {
 public:
  /// Chooses anew if the active evaluator is gone. True when another one has become active: it is
  /// to be told of the newest checkpoint.
  bool ChooseActive(const Membership& membership);
  std::optional<MemberId> active() const { return active_; }

  void OnDone(const wire::EvaluationDoneT& done);
  bool HasResultOf(Step step) const;
  std::optional<float> accuracy() const { return accuracy_; }

  /// For the last evaluation: the active evaluator, else the lowest live worker that can;
  /// nobody twice.
  std::optional<MemberId> NextCandidate(const Membership& membership);

 private:
  std::optional<MemberId> active_;
  std::set<MemberId> tried_;
  std::optional<Step> step_;
  std::optional<float> accuracy_;
};

}  // namespace weir::chief
