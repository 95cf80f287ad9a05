#include "chief/logic/membership.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "chief/logic/message_checks.h"
#include "common/model/protocol.h"

namespace weir::chief {
namespace {

// Any index is legal for an evaluator, so their number needs a limit of its own.
constexpr std::size_t kMaxEvaluators = 16;
constexpr std::size_t kMaxFieldBytes = 1024;
constexpr std::size_t kMaxSettingsBytes = 64 * 1024;

std::string IndexList(const std::set<std::uint32_t>& indices) {
  return indices.empty() ? "none" : absl::StrJoin(indices, ", ");
}

bool TooLong(const wire::JoinRequestT& request) {
  for (const std::string* text :
       {&request.ucx_version, &request.host_id, &request.address, &request.job, &request.no_rdma}) {
    if (text->size() > kMaxFieldBytes) return true;
  }
  return request.job_settings.size() > kMaxSettingsBytes;
}

}  // namespace

std::string MemberRecord::Describe() const {
  if (address.empty()) return absl::StrCat(id.ToString(), " (pid ", pid, ")");
  return absl::StrCat(id.ToString(), " (", address, ")");
}

Membership::Membership(const ChiefOptions& options) : options_(options) {}

std::string Membership::RefusalOfTask(const wire::JoinRequestT& request) const {
  switch (request.role) {
    case wire::Role::Ps:
      if (!options_.ps.contains(request.index)) {
        return absl::StrCat("ps ", request.index, " is not in the cluster, which lists ps ",
                            IndexList(options_.ps), ": give every role the same TF_CONFIG");
      }
      if (request.address.empty()) return "a ps must say at which address it serves";
      return "";
    case wire::Role::Worker:
      if (options_.workers.contains(request.index)) return "";
      return absl::StrCat("worker ", request.index, " is not in the cluster, which lists worker ",
                          IndexList(options_.workers), ": give every role the same TF_CONFIG");
    case wire::Role::Evaluator: {
      const auto others = std::count_if(members_.begin(), members_.end(), [&](const auto& entry) {
        return entry.first.role == wire::Role::Evaluator && entry.first.index != request.index;
      });
      if (static_cast<std::size_t>(others) < kMaxEvaluators) return "";
      return absl::StrCat("there have been ", others, " evaluators; one evaluates: start no more");
    }
    case wire::Role::Chief:
      return absl::StrCat("the chief of this job is at ", options_.address,
                          " already: start this role as worker, ps or evaluator");
  }
  return absl::StrCat("role ", static_cast<int>(request.role), " is not one of this protocol");
}

std::string Membership::UcxMismatch(const std::string& ucx_version) const {
  if (ucx_version.empty()) return "";
  for (const auto& [id, record] : members_) {
    if (id.role != wire::Role::Ps || !record.present() || record.ucx_version.empty()) continue;
    if (record.ucx_version == ucx_version || SameUcxSeries(record.ucx_version, ucx_version)) {
      return "";
    }
    return absl::StrCat("it has UCX ", ucx_version, ", but ", record.Describe(), " has UCX ",
                        record.ucx_version, ": install the same major.minor version everywhere");
  }
  return "";
}

std::string Membership::RefusalOf(const wire::JoinRequestT& request) const {
  if (request.protocol != options_.protocol) {
    return absl::StrCat("it speaks protocol ", request.protocol, ", the chief ", options_.protocol,
                        ": run the same weir everywhere");
  }
  if (TooLong(request)) return "a text of its join request is too long";
  if (request.incarnation == 0) return "its incarnation is 0, which names no process";
  if (request.rdma && !request.no_rdma.empty()) {
    return "it says that it has RDMA, and why it has none";
  }
  if (std::string why = RefusalOfTask(request); !why.empty()) return why;
  if (request.job != options_.job) {
    return absl::StrCat("it was started for job \"", request.job, "\", the chief for \"",
                        options_.job, "\": give every role the same --job");
  }
  if (std::string why = RefusalOfSettings(request); !why.empty()) return why;
  return UcxMismatch(request.ucx_version);
}

std::string Membership::RefusalOfSettings(const wire::JoinRequestT& request) const {
  if (request.layout_fingerprint != 0) {
    if (request.role != wire::Role::Worker) return "only a worker can be a program of its own";
    if (request.layout_fingerprint == options_.layout_fingerprint) return "";
    return absl::StrCat("its tensors differ from the job's. Its own: ", request.job_settings,
                        ". The job's: ", options_.layout,
                        ". Give its ClientConfig the job's tensors, in the job's order");
  }
  if (request.job_fingerprint == options_.job_fingerprint) return "";
  return absl::StrCat("its settings differ from the chief's. Its own: ", request.job_settings,
                      ". The chief's: ", options_.job_settings, ". Give every role the same flags");
}

Membership::Decision Membership::Join(const wire::JoinRequestT& request, absl::Time now) {
  if (std::string why = RefusalOf(request); !why.empty()) {
    return {wire::JoinOutcome::Refused, std::move(why)};
  }
  const MemberId id{request.role, request.index};
  const Incarnation incarnation(request.incarnation);
  const MemberRecord* earlier = Find(id);
  if (earlier != nullptr && earlier->present()) {
    if (earlier->incarnation != incarnation) {
      return {wire::JoinOutcome::NotYet,
              absl::StrCat(earlier->Describe(), ", pid ", earlier->pid,
                           ", still holds its lease: is the task started twice?")};
    }
    if (earlier->state == MemberState::kLive) return {};
  } else if (earlier != nullptr && earlier->incarnation == incarnation && earlier->was_live()) {
    return {wire::JoinOutcome::Refused,
            absl::StrCat("this incarnation of ", id.ToString(), " is over: start it again")};
  } else if (earlier != nullptr && id.role == wire::Role::Ps && ready_) {
    return {wire::JoinOutcome::Refused,
            absl::StrCat(id.ToString(), " cannot come back once training has begun")};
  }
  MemberRecord record = RecordOf(request);
  record.lease_until = now + options_.lease;
  members_[id] = std::move(record);
  return {};
}

MemberRecord Membership::RecordOf(const wire::JoinRequestT& request) const {
  MemberRecord record;
  record.id = {request.role, request.index};
  record.incarnation = Incarnation(request.incarnation);
  record.pid = request.pid;
  record.host_id = request.host_id;
  record.address = request.address;
  record.ucx_version = request.ucx_version;
  record.no_rdma = request.rdma ? "" : ForLog(request.no_rdma);
  if (!request.rdma && record.no_rdma.empty()) record.no_rdma = "it does not say why";
  record.external = request.layout_fingerprint != 0;
  return record;
}

void Membership::Dismiss(const wire::JoinRequestT& request) {
  MemberRecord record = RecordOf(request);
  record.state = MemberState::kLeft;
  const auto [found, added] = members_.emplace(record.id, record);
  // An earlier incarnation's end is the better news, unless it never began.
  if (!added && found->second.state == MemberState::kLost && !found->second.was_live()) {
    found->second = record;
  }
}

absl::Status Membership::Open(SessionId session, MemberId id, Incarnation incarnation,
                              absl::Time now) {
  const auto found = members_.find(id);
  if (found == members_.end() || found->second.incarnation != incarnation ||
      !found->second.present()) {
    return absl::FailedPreconditionError(
        absl::StrCat(id.ToString(), " opened a session without having joined: join first"));
  }
  if (found->second.state == MemberState::kLive) {
    return absl::FailedPreconditionError(
        absl::StrCat(found->second.Describe(), " has a session already"));
  }
  found->second.state = MemberState::kLive;
  found->second.session = session;
  found->second.lease_until = now + options_.lease;
  Changed();
  return absl::OkStatus();
}

void Membership::Renew(MemberId id, absl::Time now) {
  members_.at(id).lease_until = now + options_.lease;
}

void Membership::HoldUntil(absl::Time until) {
  for (auto& [id, record] : members_) record.lease_until = std::max(record.lease_until, until);
}

std::vector<MemberId> Membership::Expired(absl::Time now) const {
  std::vector<MemberId> expired;
  for (const auto& [id, record] : members_) {
    if (record.present() && record.lease_until <= now) expired.push_back(id);
  }
  return expired;
}

absl::Time Membership::next_expiry() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [id, record] : members_) {
    if (record.present()) next = std::min(next, record.lease_until);
  }
  return next;
}

void Membership::Lose(MemberId id) {
  MemberRecord& record = members_.at(id);
  const bool was_live = record.state == MemberState::kLive;
  record.state = MemberState::kLost;
  if (was_live) Changed();
}

void Membership::Leave(MemberId id, int exit_code, std::uint64_t peak_rss_bytes) {
  MemberRecord& record = members_.at(id);
  const bool was_live = record.state == MemberState::kLive;
  record.state = MemberState::kLeft;
  record.exit_code = exit_code;
  if (peak_rss_bytes > 0) record.peak_rss_bytes = peak_rss_bytes;
  if (was_live) Changed();
}

void Membership::MarkFinished(MemberId id) { members_.at(id).finished = true; }

const MemberRecord* Membership::Find(MemberId id) const {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : &found->second;
}

const MemberRecord* Membership::FindSession(SessionId session) const {
  for (const auto& [id, record] : members_) {
    if (record.state == MemberState::kLive && record.session == session) return &record;
  }
  return nullptr;
}

std::vector<const MemberRecord*> Membership::Live(wire::Role role) const {
  std::vector<const MemberRecord*> live;
  for (const auto& [id, record] : members_) {
    if (id.role == role && record.state == MemberState::kLive) live.push_back(&record);
  }
  return live;
}

std::vector<const MemberRecord*> Membership::Live() const {
  std::vector<const MemberRecord*> live;
  for (const auto& [id, record] : members_) {
    if (record.state == MemberState::kLive) live.push_back(&record);
  }
  return live;
}

bool Membership::anyone_present() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const auto& entry) { return entry.second.present(); });
}

bool Membership::awaits_a_worker() const {
  return std::any_of(members_.begin(), members_.end(), [](const auto& entry) {
    return entry.first.role == wire::Role::Worker && entry.second.state == MemberState::kJoined;
  });
}

std::string Membership::MissingForReady() const {
  std::vector<std::string> missing;
  for (std::uint32_t index : options_.ps) {
    const MemberRecord* record = Find({wire::Role::Ps, index});
    if (record == nullptr || record->state != MemberState::kLive) {
      missing.push_back(absl::StrCat("ps ", index));
    }
  }
  if (Live(wire::Role::Worker).empty()) {
    missing.push_back(options_.workers.size() == 1
                          ? absl::StrCat("worker ", *options_.workers.begin())
                          : absl::StrCat("a worker (of ", IndexList(options_.workers), ")"));
  }
  return absl::StrJoin(missing, ", ");
}

bool Membership::every_listed_task_is_gone() const {
  const auto gone = [this](wire::Role role, const std::set<std::uint32_t>& indices) {
    return std::all_of(indices.begin(), indices.end(), [&](std::uint32_t index) {
      const MemberRecord* record = Find({role, index});
      if (record == nullptr || record->present()) return false;
      // One that was accepted and then silent may not know it yet: it asks again.
      return record->state != MemberState::kLost || record->was_live();
    });
  };
  return gone(wire::Role::Ps, options_.ps) && gone(wire::Role::Worker, options_.workers) &&
         gone(wire::Role::Evaluator, options_.evaluators);
}

void Membership::Changed() {
  view_ = view_.next();
  if (MissingForReady().empty()) ready_ = true;
}

wire::ViewT Membership::BuildView() const {
  wire::ViewT view;
  view.number = view_.value();
  view.ready = ready_;
  const auto add = [&view](MemberId id, std::uint64_t incarnation, std::uint32_t pid,
                           const std::string& address) {
    auto member = std::make_unique<wire::MemberT>();
    member->role = id.role;
    member->index = id.index;
    member->incarnation = incarnation;
    member->pid = pid;
    member->address = address;
    member->state = "joined";
    view.members.push_back(std::move(member));
  };
  add({wire::Role::Chief, 0}, options_.incarnation, options_.pid, options_.address);
  for (const MemberRecord* member : Live()) {
    add(member->id, member->incarnation.value(), member->pid, member->address);
  }
  return view;
}

}  // namespace weir::chief
