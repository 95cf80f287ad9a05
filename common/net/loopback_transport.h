#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/net/loopback.h"
#include "common/net/loopback_port.h"
#include "common/net/transport.h"

namespace weir::net {

/// One transport of a LoopbackFabric.
class LoopbackTransport final : public Transport {
 public:
  LoopbackTransport(std::shared_ptr<LoopbackFabric> fabric, std::shared_ptr<LoopbackPort> port)
      : fabric_(std::move(fabric)), port_(std::move(port)) {}
  ~LoopbackTransport() override;

  std::string address() const override;
  absl::StatusOr<PeerId> Connect(const std::string& address, const std::string& name) override;
  void Disconnect(PeerId peer) override;
  absl::StatusOr<std::unique_ptr<Memory>> Allocate(std::size_t bytes) override;
  absl::StatusOr<std::unique_ptr<MappedMemory>> Map(PeerId owner, const std::string& key,
                                                    std::size_t bytes) override;
  absl::StatusOr<std::unique_ptr<RemoteMemory>> Open(PeerId owner, const std::string& key,
                                                     std::size_t bytes) override;
  void Get(const RemoteMemory& from, std::size_t offset, MutableByteSpan into, const Memory& memory,
           GetToken token) override;
  void Send(PeerId peer, std::uint8_t type, ByteSpan header, ByteSpan payload, const Memory* memory,
            SendToken token) override;
  bool Progress(TransportEvents& events) override;
  void Wait(absl::Duration timeout) override;
  void Wake() override { port_->Wake(); }
  std::string PathTo(PeerId) const override { return "message (loopback)"; }

 private:
  // A send that found the peer's inbox full.
  struct Pending {
    std::uint8_t type;
    std::size_t header_bytes;
    std::array<std::byte, kMaxHeaderBytes> header;
    ByteSpan payload;
    SendToken token;
  };
  struct Peer {
    std::string name;
    std::shared_ptr<LoopbackPort> port;  // null: was gone at Connect
    bool down = false;
    std::deque<Pending> pending;
  };
  struct Completion {
    SendToken token;
    absl::Status status;
  };

  struct PendingGet {
    PeerId owner;
    std::weak_ptr<LoopbackStorage> storage;
    std::size_t offset;
    MutableByteSpan into;
    GetToken token;
    absl::Status refused;
  };

  absl::Status CheckSend(const Peer* peer, std::uint8_t type, ByteSpan header,
                         ByteSpan payload) const;
  void FlushPending();
  void FailPending(Peer& peer, const absl::Status& status);
  bool Deliver(TransportEvents& events);
  void MarkDown(std::uint32_t closed_port);
  absl::StatusOr<std::shared_ptr<LoopbackStorage>> StorageOf(PeerId owner, const std::string& key,
                                                             std::size_t bytes);
  absl::Status RunGet(const PendingGet& get);
  bool RunGets(TransportEvents& events);
  bool ReportSends(TransportEvents& events);
  bool ReportDowns(TransportEvents& events);

  const std::shared_ptr<LoopbackFabric> fabric_;
  const std::shared_ptr<LoopbackPort> port_;
  PeerId last_peer_;
  absl::flat_hash_map<PeerId, std::unique_ptr<Peer>> peers_;
  std::vector<Completion> completions_;
  std::vector<PendingGet> gets_;
  std::vector<PeerId> downs_;
  TransportEvents* last_events_ = nullptr;
};

}  // namespace weir::net
