#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/membership/lease_watch.h"
#include "tests/simulation/sim_stream.h"
#include "tests/simulation/sim_task.h"

namespace weir::sim {

class SimChief;
class SimCluster;

/// A process that is a member of a job: what common/membership and runtime do around a role,
/// without threads. It joins, holds a lease, hears views and commands, and leaves.
class SimMember : public SimTask {
 public:
  SimMember(SimWorld& world, const TaskLife& who) : SimTask(world, who) {}

  void Start() override;
  void OnStopSignal() override;
  void CutSession() override;
  void OnDeath() override;

  /// The chief that it has, or had, a session with; null before.
  SimChief* leader() { return leader_; }

  // What the stream brings.
  void OnSessionNumber(chief::SessionId session) { session_ = session; }
  void OnChiefMessage(const wire::ChiefMessageT& message);
  void OnStreamEnded();
  /// The chief gave this process up: nobody expects anything of it.
  virtual void EndLife() {}

 protected:
  /// The chief has accepted: gets ready and calls OpenSession.
  virtual void OnWelcome() { OpenSession(); }
  virtual void OnOpen() {}
  virtual void OnView(const wire::ViewT&) {}
  virtual void OnCommand(const wire::ChiefMessageT&) {}
  /// The job is over for it, or its chief is gone; it leaves after this.
  virtual void OnOver() {}
  /// SIGTERM once the session is open.
  virtual void OnStopInSession() { Leave(0, "told to stop"); }

  void OpenSession();
  /// Asks again until the session opens: getting ready may take longer than a lease.
  void KeepPlace();
  template <typename Body>
  void Send(Body body) {
    wire::MemberBodyUnion any;
    any.Set(std::move(body));
    SendAny(std::move(any));
  }
  void SendAny(wire::MemberBodyUnion body);
  /// Says goodbye and ends, at the latest after 2 s.
  void Leave(int exit_code, const std::string& reason);
  bool leaving() const { return leaving_; }
  virtual std::uint64_t progress() const { return 0; }
  /// Of the chief that it has a session with.
  SimCluster& run();

 private:
  wire::JoinRequestT Request() const;
  wire::MemberMessageT Message(wire::MemberBodyUnion body) const;
  void AskToJoin();
  void OnJoinReply(const wire::JoinReplyT* reply);
  void Heartbeat();
  void WatchLease();
  void LoseChief(const std::string& why);
  bool moves_weights() const;
  bool HasRdma() const;

  absl::Time give_up_;
  std::shared_ptr<SimStream> stream_;
  chief::SessionId session_;  // 0 until the chief has numbered it
  SimChief* leader_ = nullptr;
  bool has_rdma_ = false;
  wire::RdmaUse rdma_ = wire::RdmaUse::Undecided;  // as the chief said that welcomed it
  std::optional<LeaseWatch> watch_;
  absl::Time heard_;
  bool over_ = false;  // heard the end, or lost the chief
  bool lost_ = false;
  bool leaving_ = false;
  int exit_code_ = 0;
  std::string reason_;
};

}  // namespace weir::sim
