#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/bytes.h"
#include "common/model/layout.h"
#include "common/net/transport.h"
#include "ps_server/exported_gradients.h"
#include "ps_server/logic/connections.h"
#include "ps_server/logic/push_fetches.h"
#include "ps_server/logic/shard.h"

namespace weir::ps {

/// Brings each push to the shard with its gradient, whichever way that comes: in the message, out
/// of memory of its worker that is mapped here, or read from afar into one of a fixed number of
/// landing blocks (PushFetches says how many, and what happens while all are taken). The shard
/// judges a push before its gradient is fetched, so that no repetition is, and again with it; what
/// could not be fetched whole, and what arrives when its session is over, the shard never sees.
///
/// Threading: the transport's owner. It alone gets (Transport::Get) over its transport.
class PushIntake {
 public:
  /// What it needs of the server's connections.
  class Sessions {
   public:
    virtual ~Sessions() = default;
    /// What follows is about this session. False: it is over, and nothing may follow.
    virtual bool Enter(std::uint64_t session) = 0;
    /// Closes the connection of this session, which is open: no correct worker does what `what`
    /// says.
    virtual void CloseLiar(std::uint64_t session, absl::string_view what) = 0;
    /// The same, but nobody may be to blame.
    virtual void CloseLost(std::uint64_t session, absl::string_view what) = 0;
  };

  /// All outlive it, but for the transport: see Clear.
  PushIntake(const Layout& layout, const ShardOptions& options, net::Transport& transport,
             Shard& shard, Sessions& sessions);

  /// Why the memory of `peer`, of which this is a sample, cannot be mapped; empty: it can.
  std::string WhyNotMapped(net::PeerId peer, ByteSpan key, std::size_t bytes) const;

  // Messages of a session that was entered.
  void OnExport(const Connection& from, const wire::ExportMemory& header, ByteSpan key);
  void OnPush(const Connection& from, const wire::PushBlock& header, ByteSpan payload);

  /// Whether Work has nothing to do.
  bool idle() const { return exported_.idle(); }
  /// Does a little of what was announced. Returns the answer to what has ended.
  std::optional<wire::MemoryMapped> Work();
  /// A get has ended.
  void OnGot(net::GetToken token, const absl::Status& status);

  /// The session is over.
  void Forget(std::uint64_t session);
  /// Gets whose end was not reported: until there are none the transport must live on.
  std::size_t gets_under_way() const { return fetches_.under_way(); }
  /// Lets go of all memory of workers: before the transport ends.
  void Clear() { exported_.Clear(); }

 private:
  std::size_t BytesOf(const wire::PushBlock& push) const;
  MutableByteSpan Landing(std::size_t place, std::size_t bytes) const;
  absl::Status MakeLanding();
  void StartFetches();

  const Layout& layout_;
  const std::size_t places_;
  const std::size_t landing_bytes_;  // of one place
  net::Transport& transport_;
  Shard& shard_;
  Sessions& sessions_;
  ExportedGradients exported_;
  PushFetches fetches_;
  std::unique_ptr<net::Memory> landing_;  // null before the first worker exports memory to be read
};

}  // namespace weir::ps
