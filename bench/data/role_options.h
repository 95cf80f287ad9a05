#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/job_options.h"
#include "common/model/layout.h"
#include "runtime/role_setup.h"

namespace weir::bench {

/// What a process of `weir bench latency` or `bandwidth` is told; the bench starts it by itself.
/// Everything but `index`, `cpus` and `shards` is the same for all processes of one run.
struct RoleOptions {
  std::uint64_t size = 8;  ///< bytes of a tensor
  int tensors = 1;
  int ps = 1;
  int ps_threads = 1;
  int workers = 1;
  TransportChoice transport = TransportChoice::kAuto;
  std::uint64_t iters = 1;
  std::uint64_t warm_up = 1;
  int index = 0;
  std::vector<int> cpus;  ///< to pin to
  int parent = 0;         ///< ends with this process; 0: with nobody
  std::string shards;     ///< of a worker: host:port of each ps, with commas between
};

absl::StatusOr<RoleOptions> ParseRole(std::span<const std::string> arguments);
std::vector<std::string> RoleFlags(const RoleOptions& options);

/// Pins this process, and ends it with its parent.
absl::Status SettleIn(const RoleOptions& options);

absl::StatusOr<Layout> LayoutOf(const RoleOptions& options);
/// What the transport of a role of weir is made from (runtime/role_setup.h): a cluster on loopback.
RoleSetup SetupOf(const RoleOptions& options);
/// Who they are to each other: nobody else can be in this cluster.
inline constexpr std::uint32_t kView = 1;
inline std::uint64_t IncarnationOf(int worker) { return static_cast<std::uint64_t>(worker) + 1; }

}  // namespace weir::bench
