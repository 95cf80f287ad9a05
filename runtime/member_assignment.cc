#include "runtime/member_assignment.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

constexpr std::array kRoles = {RoleType::kChief, RoleType::kWorker, RoleType::kPs,
                               RoleType::kEvaluator};

}  // namespace

std::string MemberAssignment::ToText() const {
  return nlohmann::json{{"role", std::string(RoleName(task.role))},
                        {"index", task.index},
                        {"chief", chief_address},
                        {"ps", ps},
                        {"workers", workers},
                        {"evaluator", evaluator},
                        {"cpu", cpu},
                        {"parent", parent},
                        {"ready_fd", ready_fd},
                        {"flags", job_flags},
                        {"program", program},
                        {"tf_config", tf_config}}
      .dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::ignore);
}

absl::StatusOr<MemberAssignment> MemberAssignment::FromText(const std::string& text) {
  MemberAssignment assignment;
  try {
    const auto json = nlohmann::json::parse(text);
    const std::string role = json.at("role");
    const auto* const known = std::ranges::find_if(
        kRoles, [&](RoleType type) { return RoleName(type) == absl::string_view(role); });
    if (known != kRoles.end()) {
      assignment.task = {*known, json.at("index")};
      assignment.chief_address = json.at("chief");
      assignment.ps = json.at("ps");
      assignment.workers = json.at("workers");
      assignment.evaluator = json.at("evaluator");
      assignment.cpu = json.at("cpu");
      assignment.parent = json.at("parent");
      assignment.ready_fd = json.at("ready_fd");
      assignment.job_flags = json.at("flags");
      assignment.program = json.at("program");
      assignment.tf_config = json.at("tf_config");
      return assignment;
    }
  } catch (const nlohmann::json::exception&) {
    // Nobody but a local cluster writes it: the answer is the same as for an unknown role.
  }
  return WithExitCode(
      absl::InvalidArgumentError(absl::StrCat(
          kMemberVariable, " is set, but not by a local cluster of this version: unset it")),
      ExitCode::kBadUsage);
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
