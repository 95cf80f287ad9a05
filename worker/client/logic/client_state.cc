#include "worker/client/logic/client_state.h"

#include <numeric>

#include "absl/strings/str_cat.h"

namespace weir::client {

ClientState::ClientState(const Layout& layout_in, const ClientLogicOptions& options_in,
                         ClientOutput& output_in)
    : layout(layout_in),
      options(options_in),
      output(output_in),
      links(static_cast<std::size_t>(layout_in.shards())),
      positions(layout_in.blocks().size()),
      first_blocks(layout_in.tensors().size() + 1),
      versions(layout_in.blocks().size()),
      acknowledged(layout_in.blocks().size()) {
  for (std::uint16_t s = 0; s < links.size(); ++s) {
    std::uint32_t position = 0;
    for (BlockId block : layout.blocks_of(ShardIndex(s))) positions[block.value()] = position++;
  }
  for (const Block& block : layout.blocks()) ++first_blocks[block.tensor + 1];
  std::partial_sum(first_blocks.begin(), first_blocks.end(), first_blocks.begin());
}

bool ClientState::Knows(ShardIndex shard, std::uint64_t session) const {
  return shard.value() < links.size() && links[shard.value()].connected &&
         links[shard.value()].link.session == session;
}

absl::Status ClientState::NotConnected(ShardIndex shard) const {
  const Link& link = links[shard.value()];
  if (!link.down.ok()) return link.down;
  return absl::UnavailableError("not connected yet");
}

std::string ClientState::NameOf(ShardIndex shard) const {
  if (shard.value() < options.shard_names.size()) return options.shard_names[shard.value()];
  return absl::StrCat("ps ", shard.value());
}

}  // namespace weir::client
