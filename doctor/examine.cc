#include "doctor/examine.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <iterator>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "common/base/cpu.h"
#include "doctor/apart.h"
#include "doctor/cgroup.h"
#include "doctor/clock_checks.h"
#include "doctor/gpu_checks.h"
#include "doctor/host_files.h"
#include "doctor/limit_checks.h"
#include "doctor/memory_checks.h"
#include "doctor/peer_checks.h"
#include "doctor/processor_checks.h"
#include "doctor/rdma_checks.h"
#include "doctor/ucx_checks.h"

namespace weir::doctor {
namespace {

// A host with eight GPUs and as many ports takes a few seconds to load its drivers.
constexpr absl::Duration kDriverLimit = absl::Seconds(10);
// Two time-outs of a name server that does not answer (5 s each, resolv.conf(5)) are an answer.
constexpr absl::Duration kNameLimit = absl::Seconds(5);

void Append(std::vector<Check>& to, std::vector<Check> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<Check> ExamineUcx(const HostFiles& files, std::span<const std::string> variables) {
  const UcxView view = LookAtUcx();
  const bool rdma = !KernelRdmaDevices(files).empty();
  return {CheckUcx(view, UcxBuiltWith()), CheckUcxTransports(view, KernelHasActivePort(files)),
          CheckUcxVariables(view, variables), CheckGpu(files, view, rdma)};
}

rlimit LimitOf(__rlimit_resource what) {
  rlimit limit{};
  getrlimit(what, &limit);  // fails for a wrong number only
  return limit;
}

std::optional<FileSystemRoom> RoomIn(const char* path) {
  struct statvfs room {};
  if (statvfs(path, &room) != 0) return std::nullopt;
  return FileSystemRoom{.size_bytes = std::uint64_t{room.f_blocks} * room.f_frsize,
                        .free_bytes = std::uint64_t{room.f_bavail} * room.f_frsize};
}

std::vector<Check> ExamineMemory(const HostFiles& files) {
  return {CheckLockedMemory(LimitOf(RLIMIT_MEMLOCK).rlim_cur, !KernelRdmaDevices(files).empty()),
          CheckHugePages(files), CheckSharedMemory(RoomIn("/dev/shm")),
          CheckSegments(files, static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)))};
}

std::vector<Check> ExamineLimits(const HostFiles& files, const TfConfig& config) {
  const rlimit open_files = LimitOf(RLIMIT_NOFILE);
  const int tasks =
      config.cluster.has_value() ? static_cast<int>(PeersOf(*config.cluster).size()) : 1;
  std::vector<Check> checks =
      CheckCgroup(ReadCgroupLimits(files), static_cast<int>(AllowedCpus().size()));
  checks.push_back(CheckOpenFiles(open_files.rlim_cur, open_files.rlim_max, tasks));
  checks.push_back(CheckPtrace(files.Text("/proc/sys/kernel/yama/ptrace_scope")));
  return checks;
}

std::vector<Check> ExamineProcessors(const HostFiles& files) {
  const std::vector<int> cpus = AllowedCpus();
  return {CheckCpu(CpuFeaturesHere(), cpus), CheckGovernor(files, cpus), CheckNuma(files),
          CheckClockSource(
              files.Text("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
          CheckClock(ClockSynchronised())};
}

}  // namespace

std::vector<Check> Examine(const TfConfig& config, std::span<const std::string> variables) {
  const HostFiles files;
  std::vector<Check> checks =
      ExamineApart("UCX", kDriverLimit, [&] { return ExamineUcx(files, variables); });
  Append(checks, ExamineApart("RDMA", kDriverLimit,
                              [&] { return CheckRdma(net::LookAtRdma(), KernelRdmaDevices(files)); }));
  Append(checks, ExamineMemory(files));
  Append(checks, ExamineLimits(files, config));
  Append(checks, ExamineProcessors(files));
  checks.push_back(CheckCluster(config));
  // The only ones with threads: after everything that runs apart.
  if (config.cluster.has_value()) {
    Append(checks, CheckPeers(*config.cluster, files, kNameLimit, LookUpHost));
  }
  return checks;
}

}  // namespace weir::doctor
