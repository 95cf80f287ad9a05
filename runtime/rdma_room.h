#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/config/job_options.h"

namespace weir {

/// Whether this host can do what `options.transport` asks of an RDMA device; Ok where it asks for
/// none. Errors (exit 2) name what is missing: a device, an active port, memory that may be locked.
absl::Status CheckRdmaRoom(const JobOptions& options);

/// Why a role with these options cannot move weights by RDMA, in at most 1000 bytes; empty: it can.
/// Tried with a read of this process's own memory through the device: milliseconds; microseconds on
/// a host without devices.
std::string WhyNoRdma(const JobOptions& options);

}  // namespace weir
