#pragma once

#include <optional>
#include <span>

#include "common/arena/arena_reader.h"
#include "common/base/ids.h"
#include "worker/client/logic/client_logic.h"

namespace weir {

/// Reads `read.block` out of its shard's memory into `to`, which is of its size. Declines where the
/// shard has another view than the client, where the client was told of a view, `newest`, that its
/// logic has not seen, where what there is misses the client's own pushes, and where the block
/// changes all the time. `to` is then undefined. A shard that is gone or frozen keeps its view, and
/// so can be read until a newer one comes (docs/failure-model.md).
inline std::optional<Version> ReadMapped(const arena::Reader& arena, const MappedRead& read,
                                         ViewNumber newest, std::span<float> to) {
  if (newest > read.view || arena.view() != read.view) return std::nullopt;
  const std::optional<Version> version = arena.Read(read.position, to);
  if (version.has_value() && *version < read.at_least) return std::nullopt;
  return version;
}

}  // namespace weir
