#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/base/bytes.h"
#include "common/model/layout.h"
#include "common/model/protocol.h"
#include "common/net/transport.h"
#include "schemas/data_generated.h"

namespace weir::ps {

/// The memory of workers that they push gradients from, by their sessions: of those on this host as
/// it is mapped here, of others as it is open for reading from afar. What a worker says of it is
/// checked before it is believed: it is never read beyond its end. What lies in it is the worker's
/// to change at any time; who changes a gradient that it has pushed spoils its own update, and
/// nothing else.
///
/// A mapping outlives its worker, so that one which is killed while its gradient is read is not
/// noticed here. Threading: the transport's owner.
class ExportedGradients {
 public:
  /// What Work touches in one call: about what applying a block takes (30 to 60 us), so that
  /// mapping a model of any size delays nobody's push by more.
  static constexpr std::size_t kSlice = std::size_t{64} * 1024;

  /// Both outlive this.
  ExportedGradients(const Layout& layout, net::Transport& transport);

  /// Whether, and else why not, this process can map the memory of `peer`, of which `key` and
  /// `bytes` are a sample.
  absl::Status TrySample(net::PeerId peer, const std::string& key, std::size_t bytes) const;

  /// A worker announces memory, which is mapped or opened by and by. Returns null, or what is wrong
  /// with it: then no correct worker sends it.
  const char* Announce(net::PeerId peer, const wire::ExportMemory& header, ByteSpan key);

  bool idle() const { return pending_.empty(); }
  /// One announcement's end: mapped or open, and to be found from now on; or why not.
  struct Outcome {
    std::uint64_t session = 0;
    std::uint64_t memory = 0;
    wire::MemoryAccess access = wire::MemoryAccess::Map;
    absl::Status status;
  };
  /// Does a little of what was announced, and says what has ended.
  std::optional<Outcome> Work();

  /// The `bytes` bytes at that place: either as they are mapped, or where to get them; or what is
  /// wrong with it. Good until the next call.
  struct Gradient {
    ByteSpan mapped;
    const net::RemoteMemory* remote = nullptr;
    std::size_t offset = 0;  // in `remote`
    const char* wrong = nullptr;
  };
  Gradient Find(std::uint64_t session, const wire::GradientPlace& place, std::size_t bytes) const;

  /// The session is over.
  void Forget(std::uint64_t session);
  /// All are; before the transport ends.
  void Clear();

 private:
  struct Memory {
    std::uint64_t name = 0;
    // One of them, where there is a name.
    std::unique_ptr<net::MappedMemory> mapped;
    std::unique_ptr<net::RemoteMemory> remote;
  };
  struct Session {
    std::array<Memory, kBuffersKeptMapped> memories;
    std::size_t next = 0;  // the place that the next one takes
  };
  struct Pending {
    net::PeerId peer;
    std::uint64_t session = 0;
    std::size_t bytes = 0;
    wire::MemoryAccess access = wire::MemoryAccess::Map;
    std::string key;
    Memory memory;  // perhaps mapped, and being touched
  };
  // Ok once there is nothing left to do; nothing while there is.
  std::optional<absl::Status> Map(Pending& pending);
  absl::Status Open(Pending& pending);

  net::Transport& transport_;
  const std::size_t most_bytes_;
  absl::flat_hash_map<std::uint64_t, Session> sessions_;
  std::deque<Pending> pending_;  // at most one a session
};

}  // namespace weir::ps
