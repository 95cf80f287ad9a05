#pragma once

#include "absl/time/time.h"

namespace weir {

/// Decides when a silent chief is lost. A process that was itself stopped for a while (SIGSTOP, a
/// suspended machine, a starved CPU) first gets time to read what arrived meanwhile: half a lease,
/// once per silence. Pure; one thread.
class LeaseWatch {
 public:
  LeaseWatch(absl::Duration lease, absl::Time now)
      : lease_(lease), last_look_(now), last_heard_(now) {}

  /// Whether the lease is over, the chief having last been heard at `heard`. Call at least a few
  /// times per lease: a longer pause between calls counts as this process's own stop.
  bool Lapsed(absl::Time now, absl::Time heard);

 private:
  const absl::Duration lease_;
  absl::Time last_look_;
  absl::Time last_heard_;
  absl::Duration extra_;
};

}  // namespace weir
