#include "ps_server/logic/admission.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/model/protocol.h"

namespace weir::ps {

std::string Admission::RefusalOf(const wire::ConnectRequestT& request) const {
  if (request.protocol != kProtocolVersion) {
    return absl::StrCat("it speaks protocol ", request.protocol, ", this ps ", kProtocolVersion,
                        ": run the same version of weir everywhere");
  }
  if (request.transport != rules_.transport_kind) {
    return absl::StrCat("it uses transport '", request.transport, "', this ps '",
                        rules_.transport_kind, "': give every role the same --transport");
  }
  if (request.ucx_version != rules_.ucx_version &&
      !SameUcxSeries(request.ucx_version, rules_.ucx_version)) {
    return absl::StrCat("it runs UCX ", request.ucx_version, ", this ps ", rules_.ucx_version,
                        ": UCX talks only within one major.minor version, so install the same");
  }
  if (request.layout_fingerprint != rules_.layout_fingerprint) {
    return "its model, or the number of ps, is not this ps's: start all roles with the same job";
  }
  if (request.worker >= static_cast<std::uint32_t>(rules_.max_workers)) {
    return absl::StrCat("worker ", request.worker, " is not in this cluster");
  }
  if (request.data_address.empty()) return "its data address is empty";
  return "";
}

bool Admission::OnView(ViewNumber view, const std::vector<LiveWorker>& workers) {
  if (view <= view_) return false;
  view_ = view;
  live_ = workers;
  return true;
}

std::string Admission::ReasonToWait(const wire::ConnectRequestT& request) const {
  const WorkerIndex worker(static_cast<std::uint16_t>(request.worker));
  if (IsLive(worker, Incarnation(request.incarnation))) return "";
  return absl::StrCat("worker ", request.worker, " is not in this ps's view ", view_.value(),
                      " yet");
}

bool Admission::IsLive(WorkerIndex worker, Incarnation incarnation) const {
  const auto live = std::ranges::find(live_, worker, &LiveWorker::worker);
  return live != live_.end() && live->incarnation == incarnation;
}

}  // namespace weir::ps
