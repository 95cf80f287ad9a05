#include "common/net/one_sided_trial.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"

namespace weir::net {
namespace {

constexpr std::size_t kBytes = 4096;
constexpr std::byte kMark{0x5a};

struct Outcome final : TransportEvents {
  void OnMessage(std::uint8_t, ByteSpan, ByteSpan) override {}
  void OnSent(SendToken, const absl::Status&) override {}
  void OnGot(GetToken, const absl::Status& status) override { result = status; }
  void OnPeerDown(PeerId, const absl::Status& status) override { result = status; }
  std::optional<absl::Status> result;
};

}  // namespace

absl::Status TryOneSidedRead(std::unique_ptr<Transport> given, absl::Duration limit) {
  // In this order: what the transport still holds it gives back when it is destroyed.
  Outcome outcome;
  std::unique_ptr<Memory> source;
  std::unique_ptr<Memory> target;
  const std::unique_ptr<Transport> transport = std::move(given);
  WEIR_ASSIGN_OR_RETURN(source, transport->Allocate(kBytes));
  WEIR_ASSIGN_OR_RETURN(target, transport->Allocate(kBytes));
  std::ranges::fill(source->bytes(), kMark);
  WEIR_ASSIGN_OR_RETURN(const PeerId self,
                        transport->Connect(transport->address(), "this process itself"));
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<RemoteMemory> remote,
                        transport->Open(self, source->remote_key(), kBytes));
  transport->Get(*remote, 0, target->bytes(), *target, GetToken(1));
  const absl::Time give_up = MonotonicNow() + limit;
  while (!outcome.result.has_value() && MonotonicNow() < give_up) {
    if (!transport->Progress(outcome)) transport->Wait(absl::Milliseconds(1));
  }
  if (!outcome.result.has_value()) {
    return absl::DeadlineExceededError(absl::StrCat(
        "a read of this process's own memory did not end within ", absl::FormatDuration(limit)));
  }
  WEIR_RETURN_IF_ERROR(*outcome.result);
  const bool whole = std::ranges::all_of(target->bytes(), [](std::byte b) { return b == kMark; });
  return whole ? absl::OkStatus()
               : absl::DataLossError("a read of this process's own memory brought other bytes");
}

}  // namespace weir::net
