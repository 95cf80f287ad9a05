#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/net/transport.h"

namespace weir::testing {

/// A transport with an owner thread of its own, which records what it reports. Thread-safe.
class TransportNode : public net::TransportEvents {
 public:
  struct Message {
    std::uint8_t type;
    std::vector<std::byte> header;
    std::vector<std::byte> payload;
  };
  struct Record {
    std::vector<Message> messages;
    std::vector<std::pair<net::SendToken, absl::Status>> sent;
    std::vector<std::pair<net::GetToken, absl::Status>> got;
    std::vector<std::pair<net::PeerId, absl::Status>> downs;
  };
  using MessageHook =
      std::function<void(net::Transport&, std::uint8_t type, ByteSpan header, ByteSpan payload)>;
  using SentHook = std::function<void(net::Transport&, net::SendToken, const absl::Status&)>;

  explicit TransportNode(std::unique_ptr<net::Transport> transport);
  ~TransportNode() override;

  /// Runs `task` on the owner thread and waits for its end.
  void Run(const std::function<void(net::Transport&)>& task);
  /// Ends the thread, which destroys the transport.
  void Stop();
  /// While frozen the transport makes no progress; tasks still run.
  void Freeze(bool frozen);
  /// Replace the recording of messages, or come on top of that of sends. On the owner thread.
  void SetHooks(MessageHook on_message, SentHook on_sent);

  /// Waits until `condition` holds of what is recorded, 10 s at most; whether it does.
  bool WaitUntil(const std::function<bool(const Record&)>& condition);
  Record record() const;

  void OnMessage(std::uint8_t type, ByteSpan header, ByteSpan payload) override;
  void OnSent(net::SendToken token, const absl::Status& status) override;
  void OnGot(net::GetToken token, const absl::Status& status) override;
  void OnPeerDown(net::PeerId peer, const absl::Status& status) override;

 private:
  void Loop();

  std::unique_ptr<net::Transport> transport_;
  net::Transport* const waker_;  // for Wake, which any thread may call while the loop runs
  // Owner thread only, set through Run.
  MessageHook on_message_;
  SentHook on_sent_;

  mutable Mutex mutex_;
  CondVar changed_;
  Record record_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool frozen_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace weir::testing
