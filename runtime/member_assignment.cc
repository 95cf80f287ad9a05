#include "runtime/member_assignment.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

constexpr std::array kRoles = {RoleType::kChief, RoleType::kWorker, RoleType::kPs,
                               RoleType::kEvaluator};

}  // namespace

std::vector<std::string> MemberAssignment::ToArguments() const {
  return {std::string(RoleName(task.role)),
          absl::StrCat(task.index),
          chief_address,
          absl::StrCat(ps),
          absl::StrCat(workers),
          absl::StrCat(evaluator ? 1 : 0),
          absl::StrCat(parent),
          absl::StrCat(ready_fd)};
}

absl::StatusOr<MemberAssignment> MemberAssignment::FromArguments(
    std::span<const std::string> arguments) {
  const absl::Status bad =
      absl::InvalidArgumentError("`weir member` is for `weir local` only: use `weir run`");
  if (arguments.size() < kArguments) return bad;
  MemberAssignment assignment;
  bool known = false;
  for (RoleType role : kRoles) {
    if (RoleName(role) != arguments[0]) continue;
    assignment.task.role = role;
    known = true;
  }
  assignment.chief_address = arguments[2];
  int evaluator = 0;
  if (!known || !absl::SimpleAtoi(arguments[1], &assignment.task.index) ||
      !absl::SimpleAtoi(arguments[3], &assignment.ps) ||
      !absl::SimpleAtoi(arguments[4], &assignment.workers) ||
      !absl::SimpleAtoi(arguments[5], &evaluator) ||
      !absl::SimpleAtoi(arguments[6], &assignment.parent) ||
      !absl::SimpleAtoi(arguments[7], &assignment.ready_fd)) {
    return bad;
  }
  assignment.evaluator = evaluator != 0;
  return assignment;
}

ClusterSpec MemberAssignment::ToCluster() const {
  const std::string any = "127.0.0.1:0";
  ClusterSpec cluster;
  cluster.chief[0] = chief_address;
  for (int i = 0; i < ps; ++i) cluster.ps[i] = any;
  for (int i = 0; i < workers; ++i) cluster.worker[i] = any;
  if (evaluator) cluster.evaluator[0] = any;
  cluster.self = task;
  cluster.loopback_only = true;
  return cluster;
}

absl::Status DieWithParent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return absl::AbortedError("the process that started this one is gone");
  return absl::OkStatus();
}

}  // namespace weir
