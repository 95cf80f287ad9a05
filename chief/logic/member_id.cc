#include "chief/logic/member_id.h"

#include "absl/strings/str_cat.h"

namespace weir::chief {

absl::string_view RoleText(wire::Role role) {
  switch (role) {
    case wire::Role::Chief:
      return "chief";
    case wire::Role::Worker:
      return "worker";
    case wire::Role::Ps:
      return "ps";
    case wire::Role::Evaluator:
      return "evaluator";
  }
  return "role of an unknown kind";
}

std::string MemberId::ToString() const { return absl::StrCat(RoleText(role), " ", index); }

}  // namespace weir::chief
