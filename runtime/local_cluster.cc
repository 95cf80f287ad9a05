#include "runtime/local_cluster.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "chief/summary.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "runtime/child_process.h"
#include "runtime/local_summary.h"
#include "runtime/member_logs.h"
#include "runtime/progress_display.h"
#include "runtime/role_setup.h"
#include "runtime/rdma_room.h"
#include "runtime/shared_memory_room.h"
#include "runtime/stop_signal.h"
#include "runtime/tagged_output.h"
#include "runtime/worker_program.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

constexpr absl::Duration kStartTimeout = absl::Seconds(30);
// What a chief that was told to stop may take beyond its grace: its own limits come to less.
constexpr absl::Duration kStopPatience = absl::Seconds(30);

absl::StatusOr<std::string> FreshFolder(const std::string& pattern) {
  std::string path = absl::StrCat(std::filesystem::temp_directory_path().string(), "/", pattern);
  if (mkdtemp(path.data()) == nullptr) {
    return WithExitCode(absl::InternalError(absl::StrCat("cannot make a folder like ", path, ": ",
                                                         std::strerror(errno))),
                        ExitCode::kBadUsage);
  }
  return path;
}

class LocalCluster {
 public:
  LocalCluster(LocalArguments arguments, std::vector<std::string> command,
               std::vector<std::string> worker_program)
      : arguments_(std::move(arguments)),
        command_(std::move(command)),
        worker_program_(std::move(worker_program)),
        logs_(arguments_.job.log_format,
              [this](absl::string_view lines) { display_.Write(lines); }) {
    // Where it is ignored, which a process may inherit, the kernel tells nobody how a child ended.
    std::signal(SIGCHLD, SIG_DFL);
  }
  ~LocalCluster() {
    KillRest();
    std::error_code ignored;
    if (!scratch_.empty()) std::filesystem::remove_all(scratch_, ignored);
  }

  absl::StatusOr<int> Run() {
    WEIR_RETURN_IF_ERROR(Prepare());
    WEIR_RETURN_IF_ERROR(StartAll());
    WaitForAll();
    for (TaggedOutput& output : outputs_) output.Finish();
    logs_.Close();
    display_.Close();
    return Conclude();
  }

 private:
  absl::Status Prepare() {
    WEIR_RETURN_IF_ERROR(chief::CheckSummaryPath(arguments_.job.summary));
    WEIR_ASSIGN_OR_RETURN(tls_, LoadTls(arguments_.job));
    if (arguments_.job.transport == TransportChoice::kShm)
      WEIR_RETURN_IF_ERROR(CheckSharedMemoryRoom(arguments_.ps + arguments_.workers));
    WEIR_RETURN_IF_ERROR(CheckRdmaRoom(arguments_.job));
    if (arguments_.job.model_dir.empty()) {
      WEIR_ASSIGN_OR_RETURN(arguments_.job.model_dir, FreshFolder("weir-model-XXXXXX"));
    }
    WEIR_ASSIGN_OR_RETURN(scratch_, FreshFolder("weir-run-XXXXXX"));
    LogInfo("model directory: ", arguments_.job.model_dir);
    return absl::OkStatus();
  }

  // The chief first: its port is what the others need to know.
  absl::Status StartAll() {
    MemberAssignment base{.task = {RoleType::kChief, 0},
                          .chief_address = "127.0.0.1:0",
                          .ps = arguments_.ps,
                          .workers = arguments_.workers,
                          .evaluator = arguments_.evaluator};
    WEIR_RETURN_IF_ERROR(Start(base));
    const auto port = members_.front().WaitUntilServing(kStartTimeout);
    if (!port.ok()) return WhyNotStarted(members_.front(), port.status());
    base.chief_address = absl::StrCat("127.0.0.1:", *port);
    for (int i = 0; i < arguments_.ps; ++i) WEIR_RETURN_IF_ERROR(StartAs({RoleType::kPs, i}, base));
    if (worker_program_.empty()) {
      for (int i = 0; i < arguments_.workers; ++i)
        WEIR_RETURN_IF_ERROR(StartAs({RoleType::kWorker, i}, base));
    } else {
      WEIR_RETURN_IF_ERROR(StartPrograms(base));
    }
    if (arguments_.evaluator) WEIR_RETURN_IF_ERROR(StartAs({RoleType::kEvaluator, 0}, base));
    display_.Open({.address = base.chief_address,
                   .peer = "chief",
                   .token = arguments_.job.token,
                   .tls = tls_});
    return absl::OkStatus();
  }

  absl::Status StartAs(const Task& task, MemberAssignment assignment) {
    assignment.task = task;
    return Start(std::move(assignment));
  }

  // Programs are told everybody's address, so the ps must have theirs.
  absl::Status StartPrograms(const MemberAssignment& base) {
    ProgramCluster cluster{.chief = base.chief_address};
    for (ChildProcess& member : members_) {
      if (member.task().role != RoleType::kPs) continue;
      const auto port = member.WaitUntilServing(kStartTimeout);
      if (!port.ok()) return WhyNotStarted(member, port.status());
      cluster.ps.push_back(absl::StrCat("127.0.0.1:", *port));
    }
    WEIR_ASSIGN_OR_RETURN(cluster.workers, FreeAddresses(arguments_.workers));
    for (int i = 0; i < arguments_.workers; ++i) {
      MemberAssignment assignment = base;
      assignment.task = {RoleType::kWorker, i};
      assignment.program = worker_program_;
      assignment.tf_config = cluster.TfConfigFor(i);
      WEIR_ASSIGN_OR_RETURN(TaggedOutput output, TaggedOutput::Create(assignment.task.ToString()));
      WEIR_RETURN_IF_ERROR(Start(std::move(assignment), output.writer().get()));
      output.writer().reset();
      outputs_.push_back(std::move(output));
    }
    return absl::OkStatus();
  }

  absl::Status Start(MemberAssignment assignment, int stdout_fd = -1) {
    assignment.cpu = arguments_.pin.CpuOf(assignment.task);
    JobOptions job = arguments_.job;
    job.summary = assignment.task.role == RoleType::kChief ? ChiefSummaryPath() : "";
    assignment.job_flags = ToFlags(job);
    WEIR_ASSIGN_OR_RETURN(MemberLogs::Pipe log, MemberLogs::Open());
    WEIR_ASSIGN_OR_RETURN(ChildProcess child,
                          ChildProcess::Spawn(std::move(assignment), command_, job.token,
                                              log.member_end.get(), stdout_fd));
    members_.push_back(std::move(child));
    return logs_.Read(members_.back().task(), members_.back().pid(), std::move(log.read_end));
  }

  // A member that refuses to start has said why; its exit code is the answer. One that ends with 0
  // found the job done.
  absl::Status WhyNotStarted(ChildProcess& member, const absl::Status& status) {
    const absl::Time give_up = MonotonicNow() + absl::Seconds(2);
    while (!member.Poll().has_value() && MonotonicNow() < give_up) {
      WaitForExit(absl::Milliseconds(100));
    }
    const auto& end = member.end();
    if (!end.has_value()) return status;
    if (end->exit_code == 0) return absl::OkStatus();
    failed_ = member.task();
    return Failure(end->exit_code);
  }

  void WaitForAll() {
    absl::Time kill_at = absl::InfiniteFuture();
    bool stopping = false;
    while (AnyRunning()) {
      if (StopSignal::received() && !std::exchange(stopping, true)) {
        display_.Clear();
        LogInfo("stopping: the job is checkpointed and ends");
        // From the thread that reaps: the number is still the chief's.
        members_.front().Signal(SIGTERM);
        kill_at = std::min(kill_at, MonotonicNow() + arguments_.job.grace + kStopPatience);
      }
      WaitForExit(absl::Milliseconds(250));
      for (ChildProcess& member : members_) {
        if (member.end().has_value() || !member.Poll().has_value()) continue;
        OnEnd(member, kill_at);
      }
      display_.Refresh();
      if (MonotonicNow() >= stop_rest_at_) {
        stop_rest_at_ = absl::InfiniteFuture();
        SignalRest(SIGTERM);
      }
      if (MonotonicNow() >= kill_at) KillRest();
    }
  }

  void OnEnd(const ChildProcess& member, absl::Time& kill_at) {
    const ChildEnd& end = *member.end();
    const absl::Duration patience = arguments_.job.lease + absl::Seconds(5);
    if (end.by_signal) {
      display_.Clear();
      LogWarning(member.task().ToString(), " was ended by signal ", end.exit_code - 128);
    }
    // 1, 2 and 3: this member cannot go on, and another try would end the same way. A program of
    // somebody's own may say so with any number.
    const bool is_program = !worker_program_.empty() && member.task().role == RoleType::kWorker;
    const bool cannot_go_on = end.exit_code >= 1 && (end.exit_code <= 3 || is_program);
    if (!end.by_signal && cannot_go_on && end.exit_code != 4) {
      if (first_failure_ == 0) {
        first_failure_ = end.exit_code;
        failed_ = member.task();
      }
      KillRest();
    } else if (member.task().role == RoleType::kChief || end.exit_code == 4) {
      kill_at = std::min(kill_at, MonotonicNow() + patience);
      // Whoever had not even joined when the job was stopped would look for the chief in vain.
      if (StopSignal::received()) stop_rest_at_ = MonotonicNow() + absl::Seconds(1);
    }
  }

  // Waits until some running member ends, or for `timeout`; a signal or a program's output may end
  // it earlier.
  void WaitForExit(absl::Duration timeout) {
    std::vector<UniqueFd> descriptors;
    std::vector<pollfd> waits;
    for (const ChildProcess& member : members_) {
      if (member.end().has_value()) continue;
      // By number: glibc 2.36's header forgets that C++ includes it too.
      descriptors.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, member.pid(), 0)));
      waits.push_back({.fd = descriptors.back().get(), .events = POLLIN, .revents = 0});
    }
    for (const TaggedOutput& output : outputs_) {
      waits.push_back({.fd = output.reader(), .events = POLLIN, .revents = 0});
    }
    poll(waits.data(), waits.size(), static_cast<int>(absl::ToInt64Milliseconds(timeout)));
    for (TaggedOutput& output : outputs_) output.PassOn();
  }

  bool AnyRunning() const {
    return std::ranges::any_of(members_, [](const ChildProcess& m) { return !m.end(); });
  }

  void SignalRest(int signal) const {
    for (const ChildProcess& member : members_) member.Signal(signal);
  }

  void KillRest() {
    SignalRest(SIGKILL);
    while (AnyRunning()) {
      WaitForExit(absl::Milliseconds(100));
      for (ChildProcess& member : members_) member.Poll();
    }
  }

  int ExitCodeOfAll() const {
    if (first_failure_ != 0) return first_failure_;
    const ChildEnd& chief = *members_.front().end();
    return chief.by_signal ? static_cast<int>(ExitCode::kPeerLost) : chief.exit_code;
  }

  absl::StatusOr<int> Conclude() {
    const int code = ExitCodeOfAll();
    const auto summary = CompleteSummary(ChiefSummaryPath(), members_);
    if (!summary.ok()) return code == 0 ? summary.status() : Failure(code);
    if (!arguments_.job.summary.empty()) {
      WEIR_RETURN_IF_ERROR(WriteSummaryFile(arguments_.job.summary, *summary));
    }
    std::fputs(SummaryTable(*summary).c_str(), stdout);
    std::fflush(stdout);
    if (code != 0) return Failure(code);
    return code;
  }

  // Who was the first that failed, and its own words: they may stand far above in the log.
  absl::Status Failure(int code) {
    const std::string reason = logs_.LastError(failed_);
    return WithExitCode(
        absl::AbortedError(absl::StrCat(failed_.ToString(), " failed with exit code ", code,
                                        reason.empty() ? "; its log is above" : ": ", reason)),
        static_cast<ExitCode>(code));
  }

  std::string ChiefSummaryPath() const { return absl::StrCat(scratch_, "/summary.json"); }

  LocalArguments arguments_;
  const std::vector<std::string> command_;
  const std::vector<std::string> worker_program_;  // empty: workers are weir's own
  std::shared_ptr<rpc::TlsIdentity> tls_;          // null: none
  std::string scratch_;
  StopSignal stop_;
  ProgressDisplay display_;
  MemberLogs logs_;
  std::vector<ChildProcess> members_;  // the chief first
  std::vector<TaggedOutput> outputs_;  // of the programs
  absl::Time stop_rest_at_ = absl::InfiniteFuture();
  int first_failure_ = 0;
  Task failed_{RoleType::kChief, 0};  // whose failure it is: the chief's unless another's is known
};

}  // namespace

absl::StatusOr<int> RunLocalCluster(const LocalArguments& arguments,
                                    std::vector<std::string> command,
                                    std::vector<std::string> worker_program) {
  return LocalCluster(arguments, std::move(command), std::move(worker_program)).Run();
}

}  // namespace weir
