#include "ps_server/exported_gradients.h"

#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"

namespace weir::ps {
namespace {

// Room for whatever lies between tensors to align them (worker/client/parameter_buffer.h).
constexpr std::size_t kMostPadding = 64;

std::size_t MostBytes(const Layout& layout) {
  std::size_t bytes = kMostPadding;
  for (const TensorSpec& tensor : layout.tensors()) {
    bytes += static_cast<std::size_t>(tensor.elements()) * sizeof(float) + kMostPadding;
  }
  return bytes;
}

}  // namespace

ExportedGradients::ExportedGradients(const Layout& layout, net::Transport& transport)
    : transport_(transport), most_bytes_(MostBytes(layout)) {}

absl::Status ExportedGradients::TrySample(net::PeerId peer, const std::string& key,
                                          std::size_t bytes) const {
  return transport_.Map(peer, key, bytes).status();
}

const char* ExportedGradients::Announce(net::PeerId peer, const wire::ExportMemory& header,
                                        ByteSpan key) {
  if (header.memory() == 0) return "memory without a name";
  if (header.bytes() == 0 || header.bytes() > most_bytes_) {
    return "memory that is empty, or larger than a gradient of the model";
  }
  if (header.access() > static_cast<std::uint8_t>(wire::MemoryAccess::MAX)) {
    return "memory for a use that there is not";
  }
  if (std::ranges::any_of(
          pending_, [&](const Pending& pending) { return pending.session == header.session(); })) {
    return "memory before it was told of its last";
  }
  const auto session = sessions_.find(header.session());
  if (session != sessions_.end() &&
      std::ranges::count(session->second.memories, header.memory(), &Memory::name) > 0) {
    return "memory a second time";
  }
  pending_.push_back({.peer = peer,
                      .session = header.session(),
                      .bytes = header.bytes(),
                      .access = static_cast<wire::MemoryAccess>(header.access()),
                      .key = std::string(reinterpret_cast<const char*>(key.data()), key.size()),
                      .memory = {.name = header.memory(), .mapped = nullptr, .remote = nullptr}});
  return nullptr;
}

std::optional<ExportedGradients::Outcome> ExportedGradients::Work() {
  if (pending_.empty()) return std::nullopt;
  Pending& next = pending_.front();
  const std::optional<absl::Status> ended =
      next.access == wire::MemoryAccess::Map ? Map(next) : Open(next);
  if (!ended.has_value()) return std::nullopt;
  Outcome outcome{next.session, next.memory.name, next.access, *ended};
  if (ended->ok()) {
    Session& session = sessions_[next.session];
    session.memories[session.next] = std::move(next.memory);
    session.next = (session.next + 1) % kBuffersKeptMapped;
  }
  pending_.pop_front();
  return outcome;
}

std::optional<absl::Status> ExportedGradients::Map(Pending& pending) {
  if (pending.memory.mapped == nullptr) {
    auto mapped = transport_.Map(pending.peer, pending.key, pending.bytes);
    if (!mapped.ok()) return mapped.status();
    pending.memory.mapped = *std::move(mapped);
  }
  if (pending.memory.mapped->Prefault(kSlice)) return std::nullopt;
  return absl::OkStatus();
}

absl::Status ExportedGradients::Open(Pending& pending) {
  WEIR_ASSIGN_OR_RETURN(pending.memory.remote,
                        transport_.Open(pending.peer, pending.key, pending.bytes));
  return absl::OkStatus();
}

ExportedGradients::Gradient ExportedGradients::Find(std::uint64_t session,
                                                    const wire::GradientPlace& place,
                                                    std::size_t bytes) const {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || place.memory() == 0) {
    return {.wrong = "a push from memory that is not mapped"};
  }
  const auto& memories = found->second.memories;
  const auto memory = std::ranges::find(memories, place.memory(), &Memory::name);
  if (memory == memories.end()) return {.wrong = "a push from memory that is not mapped"};
  if (place.offset() % sizeof(float) != 0) return {.wrong = "a push from an odd place in memory"};
  const std::size_t size =
      memory->mapped != nullptr ? memory->mapped->bytes().size() : memory->remote->size();
  if (place.offset() > size || bytes > size - place.offset()) {
    return {.wrong = "a push from beyond the end of its memory"};
  }
  if (memory->mapped == nullptr) return {.remote = memory->remote.get(), .offset = place.offset()};
  return {.mapped = memory->mapped->bytes().subspan(place.offset(), bytes)};
}

void ExportedGradients::Forget(std::uint64_t session) {
  sessions_.erase(session);
  std::erase_if(pending_, [&](const Pending& pending) { return pending.session == session; });
}

void ExportedGradients::Clear() {
  sessions_.clear();
  pending_.clear();
}

}  // namespace weir::ps
