#include "common/config/cluster_spec.h"

#include "absl/strings/str_cat.h"

namespace weir {

absl::string_view RoleName(RoleType role) {
  switch (role) {
    case RoleType::kChief:
      return "chief";
    case RoleType::kWorker:
      return "worker";
    case RoleType::kPs:
      return "ps";
    case RoleType::kEvaluator:
      return "evaluator";
  }
  return "unknown";
}

std::string Task::ToString() const {
  if (role == RoleType::kChief) return "chief";
  return absl::StrCat(RoleName(role), " ", index);
}

const std::map<int, std::string>& ClusterSpec::addresses(RoleType role) const {
  switch (role) {
    case RoleType::kChief:
      return chief;
    case RoleType::kWorker:
      return worker;
    case RoleType::kPs:
      return ps;
    case RoleType::kEvaluator:
      return evaluator;
  }
  return evaluator;
}

}  // namespace weir
