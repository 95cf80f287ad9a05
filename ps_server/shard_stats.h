#pragma once

#include "common/model/layout.h"
#include "ps_server/logic/shard_counters.h"
#include "schemas/chief_generated.h"

namespace weir::ps {

/// The counters as the chief wants them; without the two times. Any thread.
wire::ShardStatsT StatsOf(const Layout& layout, ShardIndex shard, ShardCounters& counters);

}  // namespace weir::ps
