#include "bench/data/role_options.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "bench/common/list_flag.h"
#include "bench/common/sizes_flag.h"
#include "common/base/cpu.h"
#include "common/base/status_macros.h"
#include "common/config/choice_flags.h"
#include "common/config/flag_table.h"
#include "common/config/mistakes.h"
#include "runtime/member_assignment.h"

namespace weir::bench {
namespace {

constexpr int kAny = std::numeric_limits<int>::max();

FlagTable Table(RoleOptions& options) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
  return {
      {"--size", "BYTES", "", IntegerIn(options.size, 4, kMost)},
      {"--tensors", "N", "", IntegerIn(options.tensors, 1, kAny)},
      {"--ps", "N", "", IntegerIn(options.ps, 1, kAny)},
      {"--ps-threads", "N", "", IntegerIn(options.ps_threads, 1, kAny)},
      {"--workers", "N", "", IntegerIn(options.workers, 1, kAny)},
      {"--transport", "NAME", "", TransportValue(options.transport)},
      {"--iters", "N", "", IntegerIn(options.iters, 1, kMost)},
      {"--warm-up", "N", "", IntegerIn(options.warm_up, 0, kMost)},
      {"--index", "N", "", IntegerIn(options.index, 0, kAny)},
      {"--cpus", "LIST", "", ListOf(options.cpus, 0, kMostCpus - 1)},
      {"--parent", "PID", "", IntegerIn(options.parent, 0, kAny)},
      {"--shards", "LIST", "", Text(options.shards)},
  };
}

}  // namespace

absl::StatusOr<RoleOptions> ParseRole(std::span<const std::string> arguments) {
  RoleOptions options;
  Mistakes mistakes;
  ParseFlags(arguments, Table(options), mistakes);
  if (!mistakes.empty()) return mistakes.ToStatus("a process of weir bench");
  return options;
}

std::vector<std::string> RoleFlags(const RoleOptions& options) {
  RoleOptions copy = options;
  return ShowFlags(Table(copy));
}

absl::Status SettleIn(const RoleOptions& options) {
  if (options.parent > 0) WEIR_RETURN_IF_ERROR(DieWithParent(options.parent));
  return PinToCpus(options.cpus);
}

absl::StatusOr<Layout> LayoutOf(const RoleOptions& options) {
  std::vector<TensorSpec> tensors;
  for (int t = 0; t < options.tensors; ++t) {
    tensors.push_back({.name = absl::StrCat("tensor ", t),
                       .shape = {static_cast<std::int64_t>(options.size / sizeof(float))}});
  }
  return Layout::Create(std::move(tensors), options.ps, options.ps_threads);
}

RoleSetup SetupOf(const RoleOptions& options) {
  RoleSetup setup;
  setup.cluster.loopback_only = true;
  setup.options.transport = options.transport;
  return setup;
}

}  // namespace weir::bench
