// LoopbackTransport's one-sided reads: copied by the reader, within its Progress.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/racy_copy.h"
#include "common/base/status_macros.h"
#include "common/net/loopback_memory.h"
#include "common/net/loopback_transport.h"

namespace weir::net {

absl::StatusOr<std::unique_ptr<RemoteMemory>> LoopbackTransport::Open(PeerId owner,
                                                                      const std::string& key,
                                                                      std::size_t bytes) {
  WEIR_ASSIGN_OR_RETURN(const std::shared_ptr<LoopbackStorage> storage,
                        StorageOf(owner, key, bytes));
  return std::make_unique<LoopbackRemoteMemory>(owner, storage, bytes);
}

void LoopbackTransport::Get(const RemoteMemory& from, std::size_t offset, MutableByteSpan into,
                            const Memory& /*memory*/, GetToken token) {
  const auto& remote = static_cast<const LoopbackRemoteMemory&>(from);
  PendingGet get{.owner = remote.owner(),
                 .storage = remote.storage(),
                 .offset = offset,
                 .into = into,
                 .token = token};
  if (into.empty() || offset > remote.size() || into.size() > remote.size() - offset) {
    get.refused = absl::InvalidArgumentError(
        absl::StrCat("a get of ", into.size(), " bytes at ", offset, " of ", remote.size()));
  }
  gets_.push_back(std::move(get));
}

absl::Status LoopbackTransport::RunGet(const PendingGet& get) {
  WEIR_RETURN_IF_ERROR(get.refused);
  const auto peer = peers_.find(get.owner);
  if (peer == peers_.end()) return absl::CancelledError("disconnected from the memory's owner");
  const std::shared_ptr<LoopbackStorage> storage = get.storage.lock();
  if (peer->second->down || storage == nullptr) {
    return absl::UnavailableError(absl::StrCat("the memory of ", peer->second->name, " is gone"));
  }
  RacyRead(get.into, storage->bytes().subspan(get.offset, get.into.size()));
  return absl::OkStatus();
}

bool LoopbackTransport::RunGets(TransportEvents& events) {
  // What the calls add is for the next round.
  const std::vector<PendingGet> running = std::exchange(gets_, {});
  for (const PendingGet& get : running) {
    const absl::Status status = RunGet(get);
    events.OnGot(get.token, status);
  }
  return !running.empty();
}

}  // namespace weir::net
