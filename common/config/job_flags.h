#pragma once

#include "common/config/flag_table.h"
#include "common/config/job_options.h"

namespace weir {

/// The rows that `weir run` and `weir local` share, over the fields of `job`, which must outlive
/// the table. Flags of DESIGN's command line that this version lacks are rows too.
FlagTable JobFlags(JobOptions& job);

}  // namespace weir
