#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/bytes.h"
#include "common/base/ids.h"

namespace weir::net {

/// A peer of one transport; never reused within its life.
using PeerId = StrongId<struct PeerIdTag, std::uint32_t>;
/// The caller's own name for one send; the transport hands it back once.
using SendToken = StrongId<struct SendTokenTag, std::uint64_t>;
/// The same for one Get.
using GetToken = StrongId<struct GetTokenTag, std::uint64_t>;

/// Headers are fixed structs (schemas/data.fbs); rc's limit may be as low as this.
inline constexpr std::size_t kMaxHeaderBytes = 64;
/// One block at most (common/model/layout.h).
inline constexpr std::size_t kMaxPayloadBytes = 224 * 1024;
/// Message types are 1 to this (wire::MessageType).
inline constexpr std::uint8_t kMaxMessageType = 15;

/// Zeroed memory that the transport made ready for its fabric, 64-byte aligned. Outlives every send from it
/// and every Get into it: destroy it after they were reported. It may outlive its transport, whose
/// destructor reports the last of them.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual MutableByteSpan bytes() = 0;
  /// What a peer passes to Transport::Map or Open, opaque; empty where no peer could do anything
  /// with it. Who has it can read and write all of the memory: it is for authenticated peers only.
  virtual const std::string& remote_key() const = 0;
};

/// A peer's Memory in this process's address space: what its owner stores appears here. Once the
/// owner is gone it stays readable, as it was last; nothing here tells of that end.
///
/// Nothing orders one side's accesses with the other's but their own atomics and fences.
/// Destroy it on the transport's owner thread and before the transport; that its peer was
/// disconnected meanwhile does not matter.
class MappedMemory {
 public:
  virtual ~MappedMemory() = default;
  /// Aligned to 64 bytes, as at the owner.
  virtual MutableByteSpan bytes() = 0;
  /// Touches its next pages, `bytes` of them at most (> 0), so that no access has to wait for them
  /// later: a page takes microseconds. Returns whether some are left.
  virtual bool Prefault(std::size_t bytes) = 0;
};

/// A peer's Memory that can be read from afar, without its owner's doing (Transport::Get): also
/// while the owner is busy or frozen. Destroy it on the transport's owner thread and before the
/// transport; gets that are under way keep what they need of it.
class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;
  /// How many bytes may be read, from its start.
  virtual std::size_t size() const = 0;
};

/// What a transport tells its owner; called only from within Transport::Progress, on the thread
/// that calls it, and from the transport's destructor (OnSent and OnGot alone). From within a call
/// of Progress the owner may call Send, Connect and Disconnect; from the destructor's, nothing.
class TransportEvents {
 public:
  virtual ~TransportEvents() = default;
  /// A message arrived. Both spans are the transport's own and end with the call; `header` is
  /// 64-byte aligned, `payload` usually is not even 4-byte aligned. Neither is longer than its
  /// limit. Who sent it is for the header to say; nothing in it is to be trusted.
  virtual void OnMessage(std::uint8_t type, ByteSpan header, ByteSpan payload) = 0;
  /// The payload of a send is the caller's again: called exactly once for every Send. Ok does not
  /// mean that the peer has it. Else kUnavailable: the peer is down; kCancelled: after Disconnect;
  /// kInvalidArgument: header, payload or type are out of range; kNotFound: no such peer.
  virtual void OnSent(SendToken token, const absl::Status& status) = 0;
  /// A Get has ended: called exactly once for each. Ok: the bytes are there, each as it was at some
  /// moment since the Get (not all at one moment: the owner may have written meanwhile). Else what
  /// is there is undefined, and the error is one of OnSent's.
  virtual void OnGot(GetToken /*token*/, const absl::Status& /*status*/) {}
  /// The peer is gone (kUnavailable); called at most once per peer, not after Disconnect. Sends to
  /// it fail from now on. Disconnect it to free its resources. How soon is up to the fabric: tcp
  /// and loopback within milliseconds, shm within the keepalive interval, and only when the peer's
  /// process has ended, not when it merely closed its transport.
  virtual void OnPeerDown(PeerId peer, const absl::Status& status) = 0;
};

/// Moves messages between this process and its peers over one fabric.
///
/// Delivery: in order and at most once for each peer as long as it is connected; a peer that is
/// frozen is not noticed here (leases and deadlines do that). Connecting needs Progress on both
/// sides. A transport receives from whoever has its address, connected or not.
/// Threads: one owner thread at a time for everything but Wake; hand-overs need a happens-before.
/// Teardown: Disconnect all peers, or just destroy: the destructor closes by force and reports what
/// was outstanding through OnSent to the events last given to Progress, which therefore must
/// outlive the transport.
class Transport {
 public:
  virtual ~Transport() = default;

  /// What a peer passes to Connect; opaque, for the same kind and version of transport only.
  virtual std::string address() const = 0;

  /// Starts a connection to the owner of `address` and returns at once; failure comes later, as
  /// OnPeerDown. `name` ("ps 1") stands in errors.
  /// Errors: kInvalidArgument for an address that cannot be one.
  virtual absl::StatusOr<PeerId> Connect(const std::string& address, const std::string& name) = 0;

  /// Closes by force. Outstanding sends are reported, with kCancelled unless they had got through,
  /// by later Progress calls. Whether the peer notices is up to the fabric.
  virtual void Disconnect(PeerId peer) = 0;

  /// `bytes` > 0. Errors: kResourceExhausted, naming the limit that was hit.
  virtual absl::StatusOr<std::unique_ptr<Memory>> Allocate(std::size_t bytes) = 0;

  /// Maps `bytes` (> 0) bytes of memory that the owner of the peer `owner` allocated, from its
  /// start; `key` is that Memory's remote_key, as it came from an authenticated peer. Takes less
  /// than a millisecond, since it touches nothing: see MappedMemory::Prefault. Errors:
  /// kUnavailable, with the reason, where it cannot be mapped: another host, a fabric or limits
  /// that do not share memory. kInvalidArgument: this is no key, or the memory is shorter.
  /// kNotFound: no such peer.
  virtual absl::StatusOr<std::unique_ptr<MappedMemory>> Map(PeerId owner, const std::string& key,
                                                            std::size_t bytes) = 0;

  /// Opens the first `bytes` (> 0) bytes of memory that the owner of the peer `owner` allocated,
  /// for Get; `key` as for Map. Errors: kUnavailable, with the reason, where this fabric or this
  /// peer's connection has no one-sided reads of its own (they are not emulated: a message is
  /// quicker). kInvalidArgument: this is no key, or the memory is shorter. kNotFound: no such peer.
  virtual absl::StatusOr<std::unique_ptr<RemoteMemory>> Open(PeerId owner, const std::string& key,
                                                             std::size_t bytes) = 0;

  /// Reads `into.size()` (> 0) bytes at `offset` of `from` to `into`, which lies in `memory` and is
  /// the transport's until OnGot. Any alignment, any size. Two gets are ordered only if the second
  /// starts after the first was reported. What is out of range is an error here, and nothing is
  /// read. Never blocks and never calls back from within.
  virtual void Get(const RemoteMemory& from, std::size_t offset, MutableByteSpan into,
                   const Memory& memory, GetToken token) = 0;

  /// Sends header (copied; at most kMaxHeaderBytes) and payload (borrowed until OnSent; at most
  /// kMaxPayloadBytes). `memory` is the Memory that holds the payload, or null where it lies
  /// elsewhere or is empty. Never blocks and never calls back from within; the number of
  /// outstanding sends is for the caller's credits to bound.
  virtual void Send(PeerId peer, std::uint8_t type, ByteSpan header, ByteSpan payload,
                    const Memory* memory, SendToken token) = 0;

  /// Runs what is ready and returns whether anything was.
  virtual bool Progress(TransportEvents& events) = 0;

  /// Returns when there may be something for Progress to do, after Wake, or after `timeout`; maybe
  /// earlier, so that the transport's own keepalive runs, or at once, so that the owner polls for
  /// a short while: who finds nothing to do just calls it again.
  virtual void Wait(absl::Duration timeout) = 0;

  /// Makes a current or the next Wait return. Any thread.
  virtual void Wake() = 0;

  /// How messages reach `peer`, for people: "message (ucx tcp/lo)".
  virtual std::string PathTo(PeerId peer) const = 0;
};

}  // namespace weir::net
