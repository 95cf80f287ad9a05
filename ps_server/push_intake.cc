#include "ps_server/push_intake.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/net/wire_message.h"

namespace weir::ps {
namespace {

constexpr std::size_t kAlignment = 64;

// For the largest block of the shard.
std::size_t LandingBytes(const Layout& layout, ShardIndex shard) {
  std::int64_t most = 0;
  for (BlockId id : layout.blocks_of(shard)) most = std::max(most, layout.block(id).bytes());
  return (static_cast<std::size_t>(most) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

PushIntake::PushIntake(const Layout& layout, const ShardOptions& options, net::Transport& transport,
                       Shard& shard, Sessions& sessions)
    : layout_(layout),
      places_(PushFetches::PlacesFor(options.max_workers)),
      landing_bytes_(LandingBytes(layout, options.shard)),
      transport_(transport),
      shard_(shard),
      sessions_(sessions),
      exported_(layout, transport),
      fetches_(places_, options.push_credits) {}

std::string PushIntake::WhyNotMapped(net::PeerId peer, ByteSpan key, std::size_t bytes) const {
  const std::string copy(reinterpret_cast<const char*>(key.data()), key.size());
  return std::string(exported_.TrySample(peer, copy, bytes).message());
}

void PushIntake::OnExport(const Connection& from, const wire::ExportMemory& header, ByteSpan key) {
  if (const char* what = exported_.Announce(from.peer, header, key)) {
    sessions_.CloseLiar(from.session, absl::StrCat("it announced ", what));
  }
}

std::optional<wire::MemoryMapped> PushIntake::Work() {
  auto ended = exported_.Work();
  if (!ended.has_value()) return std::nullopt;
  if (ended->status.ok() && ended->access == wire::MemoryAccess::Read) {
    ended->status = MakeLanding();
  }
  const bool mapped = ended->status.ok();
  if (!mapped) {
    // Not a warning: its worker may just have gone. One that is there gives one.
    LogInfo("cannot map or open a worker's gradients; if it is still there its pushes come by ",
            "message: ", ended->status.message());
  }
  return wire::MemoryMapped(ended->session, ended->memory,
                            mapped ? wire::MapOutcome::Mapped : wire::MapOutcome::Refused, 0, 0, 0);
}

absl::Status PushIntake::MakeLanding() {
  if (landing_ != nullptr) return absl::OkStatus();
  if (landing_bytes_ == 0) return absl::FailedPreconditionError("this ps holds no block");
  auto landing = transport_.Allocate(places_ * landing_bytes_);
  if (landing.ok()) landing_ = *std::move(landing);
  return landing.status();
}

std::size_t PushIntake::BytesOf(const wire::PushBlock& push) const {
  // Of a block that does not exist, nothing: the shard says what it thinks of it.
  const bool exists = push.block() < layout_.blocks().size();
  return exists ? static_cast<std::size_t>(layout_.block(BlockId(push.block())).bytes()) : 0;
}

MutableByteSpan PushIntake::Landing(std::size_t place, std::size_t bytes) const {
  return landing_->bytes().subspan(place * landing_bytes_, bytes);
}

void PushIntake::OnPush(const Connection& from, const wire::PushBlock& header, ByteSpan payload) {
  if (header.source() == static_cast<std::uint8_t>(wire::PushSource::Payload)) {
    return shard_.OnPush(from.worker, header, payload);
  }
  const auto refuse = [&](const char* what) { shard_.RefuseLie(from.worker, header, what); };
  if (header.source() != static_cast<std::uint8_t>(wire::PushSource::Memory)) {
    return refuse("a push from no source that there is");
  }
  const auto place = net::ReadHeader<wire::GradientPlace>(payload);
  if (!place.has_value()) return refuse("a push that does not say where its gradient is");
  const auto gradient = exported_.Find(header.session(), *place, BytesOf(header));
  if (gradient.wrong != nullptr) return refuse(gradient.wrong);
  if (gradient.remote == nullptr) return shard_.OnPush(from.worker, header, gradient.mapped);
  if (landing_ == nullptr) return refuse("a push from memory that was refused");
  if (!shard_.WantsGradient(from.worker, header)) return;
  if (!fetches_.Add({.worker = from.worker, .push = header, .from = *place})) {
    return shard_.AnswerBusy(from.worker, header);
  }
  StartFetches();
}

void PushIntake::StartFetches() {
  while (const auto place = fetches_.Start()) {
    const PushFetches::Fetch& fetch = fetches_.at(*place);
    const std::size_t bytes = BytesOf(fetch.push);
    const auto gradient = exported_.Find(fetch.push.session(), fetch.from, bytes);
    if (gradient.remote == nullptr) {
      // It exported so much since then that this memory is no longer kept.
      const auto ended = fetches_.End(*place);
      sessions_.CloseLiar(ended->push.session(), "it pushed from more memory than is kept open");
      continue;
    }
    transport_.Get(*gradient.remote, gradient.offset, Landing(*place, bytes), *landing_,
                   net::GetToken(*place));
  }
}

void PushIntake::OnGot(net::GetToken token, const absl::Status& status) {
  const std::size_t place = token.value();
  // The place is free from here on, and filled anew only by StartFetches below.
  const auto fetch = fetches_.End(place);
  if (fetch.has_value() && sessions_.Enter(fetch->push.session())) {
    if (status.ok()) {
      shard_.OnPush(fetch->worker, fetch->push, Landing(place, BytesOf(fetch->push)));
    } else {
      sessions_.CloseLost(fetch->push.session(),
                          absl::StrCat("its gradient could not be read: ", status.message()));
    }
  }
  StartFetches();
}

void PushIntake::Forget(std::uint64_t session) {
  exported_.Forget(session);
  fetches_.Forget(session);
}

}  // namespace weir::ps
