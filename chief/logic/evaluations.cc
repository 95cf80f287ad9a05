#include "chief/logic/evaluations.h"

#include <algorithm>

namespace weir::chief {

bool Evaluations::ChooseActive(const Membership& membership) {
  const auto live = membership.Live(wire::Role::Evaluator);
  const auto is_active = [this](const MemberRecord* record) { return record->id == active_; };
  if (active_.has_value() && std::any_of(live.begin(), live.end(), is_active)) return false;
  active_.reset();
  const auto first = std::min_element(live.begin(), live.end(), [](const auto* a, const auto* b) {
    return a->session < b->session;
  });
  if (first == live.end()) return false;
  active_ = (*first)->id;
  return true;
}

void Evaluations::OnDone(const wire::EvaluationDoneT& done) {
  if (!done.error.empty()) return;
  // A late result of an older checkpoint says nothing new.
  if (step_.has_value() && Step(done.step) < *step_) return;
  step_ = Step(done.step);
  accuracy_ = done.accuracy;
}

bool Evaluations::HasResultOf(Step step) const { return step_ == step; }

std::optional<MemberId> Evaluations::NextCandidate(const Membership& membership) {
  if (active_.has_value() && tried_.insert(*active_).second) return active_;
  for (const MemberRecord* worker : membership.Live(wire::Role::Worker)) {
    if (!worker->external && tried_.insert(worker->id).second) return worker->id;
  }
  return std::nullopt;
}

}  // namespace weir::chief
