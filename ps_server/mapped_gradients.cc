#include "ps_server/mapped_gradients.h"

#include <algorithm>
#include <utility>

#include "common/net/wire_message.h"

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

MappedGradients::MappedGradients(const Layout& layout, net::Transport& transport)
    : transport_(transport), most_bytes_(MostBytes(layout)) {}

absl::Status MappedGradients::TrySample(net::PeerId peer, const std::string& key,
                                        std::size_t bytes) const {
  return transport_.Map(peer, key, bytes).status();
}

const char* MappedGradients::Announce(net::PeerId peer, const wire::ExportMemory& header,
                                      ByteSpan key) {
  if (header.memory() == 0) return "memory without a name";
  if (header.bytes() == 0 || header.bytes() > most_bytes_) {
    return "memory that is empty, or larger than a gradient of the model";
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
                      .memory = header.memory(),
                      .bytes = header.bytes(),
                      .key = std::string(reinterpret_cast<const char*>(key.data()), key.size()),
                      .mapped = nullptr});
  return nullptr;
}

std::optional<MappedGradients::Outcome> MappedGradients::Work() {
  if (pending_.empty()) return std::nullopt;
  Pending& next = pending_.front();
  if (next.mapped == nullptr) {
    auto mapped = transport_.Map(next.peer, next.key, next.bytes);
    if (!mapped.ok()) return End(mapped.status());
    next.mapped = *std::move(mapped);
  }
  if (next.mapped->Prefault(kSlice)) return std::nullopt;
  Session& session = sessions_[next.session];
  session.memories[session.next] = {next.memory, std::move(next.mapped)};
  session.next = (session.next + 1) % kBuffersKeptMapped;
  return End(absl::OkStatus());
}

MappedGradients::Outcome MappedGradients::End(const absl::Status& status) {
  const Outcome outcome{pending_.front().session, pending_.front().memory, status};
  pending_.pop_front();
  return outcome;
}

MappedGradients::Gradient MappedGradients::Find(std::uint64_t session, ByteSpan payload,
                                                std::size_t bytes) const {
  const auto where = net::ReadHeader<wire::MappedGradient>(payload);
  if (!where.has_value()) return {.wrong = "a push that does not say where its gradient is"};
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || where->memory() == 0) {
    return {.wrong = "a push from memory that is not mapped"};
  }
  const auto& memories = found->second.memories;
  const auto memory = std::ranges::find(memories, where->memory(), &Memory::name);
  if (memory == memories.end()) return {.wrong = "a push from memory that is not mapped"};
  const ByteSpan all = memory->mapped->bytes();
  if (where->offset() % sizeof(float) != 0) return {.wrong = "a push from an odd place in memory"};
  if (where->offset() > all.size() || bytes > all.size() - where->offset()) {
    return {.wrong = "a push from beyond the end of its memory"};
  }
  return {.bytes = all.subspan(where->offset(), bytes)};
}

void MappedGradients::Forget(std::uint64_t session) {
  sessions_.erase(session);
  std::erase_if(pending_, [&](const Pending& pending) { return pending.session == session; });
}

void MappedGradients::Clear() {
  sessions_.clear();
  pending_.clear();
}

}  // namespace weir::ps
