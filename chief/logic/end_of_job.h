#pragma once

#include <string>
#include <vector>

#include "chief/logic/membership.h"

namespace weir::chief {

/// Decides whether training goes on, from what became of the workers.
class EndOfJob {
 public:
  enum class Verdict {
    kGoesOn,
    kComplete,     ///< max_steps reached, or every worker ran out of work
    kStopped,      ///< asked to stop, or the last worker left by itself
    kWorkersLost,  ///< nobody is left to take the remaining steps
  };

  void OnFinished() { last_ = Last::kFinished; }
  /// An unfinished worker said goodbye. A failure's exit code counts as a loss.
  void OnLeft(const MemberRecord& worker, int exit_code, const std::string& reason);
  /// An unfinished worker was lost: "its process ended".
  void OnLost(const MemberRecord& worker, const std::string& how);

  /// Call with the workers that are live now.
  Verdict Judge(const std::vector<const MemberRecord*>& live, bool max_reached,
                bool stop_requested) const;
  /// "worker 1 (host:port) was lost: its process ended": the last that went.
  const std::string& last_departure() const { return departure_; }

 private:
  // What the last worker did that stopped training: it alone tells an end from a breakdown, since
  // the loss of an earlier one did not stop the others.
  enum class Last { kNone, kFinished, kLeft, kLost };
  Last last_ = Last::kNone;
  std::string departure_;
};

}  // namespace weir::chief
