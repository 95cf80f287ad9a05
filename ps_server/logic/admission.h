#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "ps_server/logic/shard.h"
#include "schemas/shard_generated.h"

namespace weir::ps {

/// What a worker must have in common with a ps.
struct AdmissionRules {
  std::string transport_kind;
  std::string ucx_version;  ///< empty with another transport
  std::uint64_t layout_fingerprint = 0;
  int max_workers = 1;  ///< worker indices are below this
};

/// Decides which workers may connect to a ps: those that fit, once they are in its view.
class Admission {
 public:
  explicit Admission(AdmissionRules rules) : rules_(std::move(rules)) {}

  /// Why a worker that asks like this can never be let in; empty where it may. Any thread.
  std::string RefusalOf(const wire::ConnectRequestT& request) const;

  // The view, of one owner.
  /// False, and nothing has changed, for a view that is not newer.
  bool OnView(ViewNumber view, const std::vector<LiveWorker>& workers);
  /// Why this worker is to ask again later; empty when it is in the view. Its RefusalOf is empty.
  std::string ReasonToWait(const wire::ConnectRequestT& request) const;
  bool IsLive(WorkerIndex worker, Incarnation incarnation) const;
  ViewNumber view() const { return view_; }
  const std::vector<LiveWorker>& live() const { return live_; }

 private:
  const AdmissionRules rules_;
  ViewNumber view_;
  std::vector<LiveWorker> live_;
};

}  // namespace weir::ps
