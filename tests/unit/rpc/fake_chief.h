#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/rpc/server.h"

namespace weir::rpc {

template <typename Union, typename Body>
Union BodyOf(Body body) {
  Union result;
  result.Set(std::move(body));
  return result;
}

template <typename Body>
wire::ChiefMessageT FromChief(Body body) {
  wire::ChiefMessageT message;
  message.body = BodyOf<wire::ChiefBodyUnion>(std::move(body));
  return message;
}

/// A chief that accepts everybody, renews leases, remembers what it was told, and misbehaves on
/// request.
class FakeChief : public ChiefHandler {
 public:
  enum class Manner {
    kProper,     // answers each heartbeat with a lease, returns after a Goodbye
    kSilent,     // neither reads nor writes until Release
    kDeaf,       // reads, but writes nothing
    kWalksAway,  // ends the stream at once
    kNeverEnds,  // as kProper, but keeps the stream after a Goodbye
  };

  absl::StatusOr<wire::JoinReplyT> Join(const wire::JoinRequestT& request) override {
    MutexLock lock(&mutex_);
    joins_.push_back(request);
    wire::JoinReplyT reply;
    reply.lease_ms = lease_ms;
    reply.outcome = outcome;
    reply.reason = reason;
    reply.exit_code = exit_code;
    if (not_yet > 0) {
      --not_yet;
      reply.outcome = wire::JoinOutcome::NotYet;
    }
    reply.rdma = rdma_;
    if (undecided > 0) {
      --undecided;
      reply.rdma = wire::RdmaUse::Undecided;
    }
    return reply;
  }

  absl::Status Session(MemberStream& stream) override {
    Change([&] { ++open_; });
    const absl::Status status = Talk(stream);
    Change([&] { --open_; });
    return status;
  }

  absl::StatusOr<wire::StatusReplyT> GetStatus() override {
    wire::StatusReplyT reply;
    reply.job = "fake";
    return reply;
  }

  /// Waits until `condition` holds of what was heard and of the open streams; false after 10 s.
  bool Await(const std::function<bool(const std::vector<wire::MemberMessageT>&, int)>& condition) {
    const absl::Time deadline = MonotonicNow() + absl::Seconds(10);
    MutexLock lock(&mutex_);
    while (!condition(heard_, open_)) {
      const absl::Duration left = deadline - MonotonicNow();
      if (left <= absl::ZeroDuration()) return false;
      changed_.WaitFor(&mutex_, left);
    }
    return true;
  }
  bool AwaitOpen(int streams) {
    return Await([=](const auto&, int open) { return open == streams; });
  }

  /// What it says from now on of RDMA; "unused" at first.
  void Decide(wire::RdmaUse use) {
    Change([&] { rdma_ = use; });
  }
  /// Ends what the silent manner waits for.
  void Release() {
    Change([&] { released_ = true; });
  }

  std::vector<wire::MemberMessageT> heard() {
    MutexLock lock(&mutex_);
    return heard_;
  }
  std::vector<wire::JoinRequestT> joins() {
    MutexLock lock(&mutex_);
    return joins_;
  }

  // Set before the server starts.
  Manner manner = Manner::kProper;
  std::uint32_t lease_ms = 5000;
  wire::JoinOutcome outcome = wire::JoinOutcome::Accepted;
  std::string reason;
  int exit_code = 0;
  int not_yet = 0;                               // so many questions are answered so
  int undecided = 0;                             // of RDMA; so are these
  std::vector<wire::ChiefMessageT> first_words;  // sent on each stream's first message

 private:
  template <typename Action>
  void Change(Action action) {
    MutexLock lock(&mutex_);
    action();
    changed_.NotifyAll();
  }

  absl::Status Talk(MemberStream& stream) {
    if (manner == Manner::kWalksAway) return absl::AbortedError("the chief walks away");
    if (manner == Manner::kSilent) {
      MutexLock lock(&mutex_);
      while (!released_) changed_.Wait(&mutex_);
      return absl::OkStatus();
    }
    bool first = true;
    wire::MemberMessageT message;
    while (stream.Read(&message)) {
      Change([&] { heard_.push_back(message); });
      if (std::exchange(first, false))
        for (const auto& word : first_words) stream.Write(word);
      if (message.body.AsGoodbye() != nullptr && manner != Manner::kNeverEnds)
        return absl::OkStatus();
      if (message.body.AsHeartbeat() != nullptr && manner != Manner::kDeaf)
        stream.Write(FromChief(wire::LeaseT()));
    }
    // A member that half-closed is kept waiting until somebody cancels.
    MutexLock lock(&mutex_);
    while (manner == Manner::kNeverEnds && !released_) changed_.Wait(&mutex_);
    return absl::OkStatus();
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<wire::MemberMessageT> heard_ ABSL_GUARDED_BY(mutex_);
  std::vector<wire::JoinRequestT> joins_ ABSL_GUARDED_BY(mutex_);
  int open_ ABSL_GUARDED_BY(mutex_) = 0;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
  wire::RdmaUse rdma_ ABSL_GUARDED_BY(mutex_) = wire::RdmaUse::Unused;
};

/// A server on a free loopback port.
inline std::unique_ptr<Server> Serve(ChiefHandler* chief, ShardHandler* shard = nullptr,
                                     const std::string& token = "", int port = 0,
                                     std::shared_ptr<TlsIdentity> tls = nullptr) {
  auto server = Server::Create({.who = "chief",
                                .address = absl::StrCat("127.0.0.1:", port),
                                .loopback_only = true,
                                .token = token,
                                .tls = std::move(tls)},
                               chief, shard);
  if (!server.ok()) return nullptr;
  return *std::move(server);
}

inline std::string AddressOf(const Server& server) {
  return absl::StrCat("127.0.0.1:", server.port());
}

}  // namespace weir::rpc
