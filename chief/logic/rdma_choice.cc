#include "chief/logic/rdma_choice.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "chief/logic/message_checks.h"

namespace weir::chief {
namespace {

bool MovesData(wire::Role role) { return role == wire::Role::Ps || role == wire::Role::Worker; }

bool HasRdma(const RdmaMember& member) { return member.no_rdma.empty(); }

bool OnOneHost(std::span<const RdmaMember> members) {
  return std::ranges::all_of(
      members, [&](const RdmaMember& member) { return member.host_id == members.front().host_id; });
}

// "worker 1 (host b): no port ...", and how many more.
std::string WhoLacksIt(std::span<const RdmaMember> members) {
  const auto first = std::ranges::find_if_not(members, HasRdma);
  const std::string host = first->host_id.substr(first->host_id.find('@') + 1);
  const auto lack = members.size() - std::ranges::count_if(members, HasRdma);
  return absl::StrCat(first->name, " (host ", host, "): ", first->no_rdma,
                      lack > 1 ? absl::StrCat(" (and ", lack - 1, " more without)") : "");
}

RdmaVerdict Unused(std::string why) {
  return {.use = wire::RdmaUse::Unused, .why_unused = std::move(why)};
}

// On one host mapped memory is better than any device, and nothing needs telling.
RdmaVerdict BetweenHosts(std::span<const RdmaMember> members, bool all_in) {
  const bool one_host = OnOneHost(members);
  if (!std::ranges::all_of(members, HasRdma)) return Unused(one_host ? "" : WhoLacksIt(members));
  if (!all_in) return {};
  if (one_host) return Unused("");
  return {.use = wire::RdmaUse::Used};
}

std::vector<RdmaMember> MembersOf(const Membership& membership) {
  std::vector<RdmaMember> members;
  for (const auto& [id, record] : membership.members()) {
    if (!MovesData(id.role) || !record.present()) continue;
    members.push_back({id.ToString(), ForLog(record.host_id), record.no_rdma});
  }
  return members;
}

bool IsIn(const Membership& membership, MemberId id) {
  const MemberRecord* record = membership.Find(id);
  return record != nullptr && record->present();
}

std::vector<std::string> Absent(const Membership& membership, wire::Role role,
                                const std::set<std::uint32_t>& listed) {
  std::vector<std::string> absent;
  for (const std::uint32_t index : listed) {
    const MemberId id{role, index};
    if (!IsIn(membership, id)) absent.push_back(id.ToString());
  }
  return absent;
}

}  // namespace

RdmaRule RdmaRuleOf(const ChiefOptions& options) {
  if (options.transport == "rdma" || options.transport == "require-rdma") return RdmaRule::kAlways;
  if (options.transport == "auto" && !options.one_host) return RdmaRule::kBetweenHosts;
  return RdmaRule::kNever;
}

RdmaVerdict ChooseRdma(RdmaRule rule, std::span<const RdmaMember> members, bool all_in) {
  switch (rule) {
    case RdmaRule::kNever:
      return Unused("");
    case RdmaRule::kAlways:
      return {.use = wire::RdmaUse::Used};
    case RdmaRule::kBetweenHosts:
      return members.empty() ? RdmaVerdict() : BetweenHosts(members, all_in);
  }
  return Unused("");
}

RdmaChoice::RdmaChoice(const ChiefOptions& options)
    : options_(options), rule_(RdmaRuleOf(options)), verdict_(ChooseRdma(rule_, {}, false)) {}

std::optional<std::string> RdmaChoice::Look(const Membership& membership, absl::Time now) {
  const bool told = !verdict_.why_unused.empty();
  if (told || verdict_.use == wire::RdmaUse::Used || rule_ == RdmaRule::kNever) return std::nullopt;
  // Once decided, only a new member makes news.
  if (decided() && membership.view() == seen_) return std::nullopt;
  seen_ = membership.view();
  const std::vector<RdmaMember> members = MembersOf(membership);
  if (!decided()) {
    WaitFor(membership, now);
    verdict_ = ChooseRdma(rule_, members, AllIn(membership, now));
    if (verdict_.use == wire::RdmaUse::Used) {
      return absl::StrCat("weights travel by RDMA: the ", members.size(),
                          " ps and workers that are in all have it");
    }
  } else if (!members.empty() && !OnOneHost(members)) {
    // The second host came after the decision, or after a first member without RDMA had made it.
    verdict_.why_unused = std::ranges::all_of(members, HasRdma)
                              ? "the job was set up when all that were in were on one host"
                              : WhoLacksIt(members);
  }
  if (verdict_.why_unused.empty()) return std::nullopt;
  return absl::StrCat("weights do not travel by RDMA: ", verdict_.why_unused);
}

void RdmaChoice::WaitFor(const Membership& membership, absl::Time now) {
  const bool enough =
      Absent(membership, wire::Role::Ps, options_.ps).empty() &&
      Absent(membership, wire::Role::Worker, options_.workers).size() < options_.workers.size();
  enough_since_ = enough ? std::min(enough_since_, now) : absl::InfiniteFuture();
}

bool RdmaChoice::AllIn(const Membership& membership, absl::Time now) const {
  return now >= next_look() || Awaited(membership).empty();
}

absl::Time RdmaChoice::next_look() const {
  return decided() ? absl::InfiniteFuture() : enough_since_ + options_.rdma_patience;
}

std::string RdmaChoice::RefusalOf(const wire::JoinRequestT& request) const {
  if (verdict_.use != wire::RdmaUse::Used || !MovesData(request.role) || request.rdma) return "";
  return absl::StrCat(rule_ == RdmaRule::kAlways
                          ? absl::StrCat("--transport ", options_.transport, " asks for RDMA")
                          : "the weights of this job travel by RDMA",
                      ", and this member has none: ", ForLog(request.no_rdma),
                      ". Mend that, or start the whole job again with --transport tcp");
}

bool RdmaChoice::IsProvedWrongBy(const wire::JoinRequestT& request) const {
  return rule_ == RdmaRule::kBetweenHosts && request.role == wire::Role::Ps &&
         !RefusalOf(request).empty();
}

absl::Status RdmaChoice::CheckOpening(const wire::MemberMessageT& first) const {
  if (!MovesData(first.role) || (decided() && first.rdma == verdict_.use)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      MemberId{first.role, first.index}.ToString(), " got ready for weights that ",
      first.rdma == wire::RdmaUse::Used ? "travel" : "do not travel",
      " by RDMA, as an earlier chief had it, and this one has not, or not yet, decided so: start "
      "it again"));
}

std::string RdmaChoice::Awaited(const Membership& membership) const {
  std::vector<std::string> absent = Absent(membership, wire::Role::Ps, options_.ps);
  for (std::string& worker : Absent(membership, wire::Role::Worker, options_.workers)) {
    absent.push_back(std::move(worker));
  }
  return absl::StrJoin(absent, ", ");
}

}  // namespace weir::chief
