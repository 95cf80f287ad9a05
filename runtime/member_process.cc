#include "runtime/member_process.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "chief/summary.h"
#include "common/base/cpu.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/unique_fd.h"
#include "common/checkpoint/checkpoint_directory.h"
#include "common/checkpoint/model_dir.h"
#include "common/config/options.h"
#include "common/rpc/client.h"
#include "common/rpc/server.h"
#include "runtime/chief_role.h"
#include "runtime/evaluator_role.h"
#include "runtime/ps_role.h"
#include "runtime/rdma_room.h"
#include "runtime/role_setup.h"
#include "runtime/stop_signal.h"
#include "runtime/worker_program.h"
#include "runtime/worker_role.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

bool HostsChief(const ClusterSpec& cluster) {
  if (cluster.self.role == RoleType::kChief) return true;
  return cluster.worker_hosts_chief && cluster.self.role == RoleType::kWorker &&
         cluster.self.index == cluster.worker.begin()->first;
}

std::optional<int> HostedWorker(const ClusterSpec& cluster) {
  if (cluster.self.role == RoleType::kWorker) return cluster.self.index;
  if (cluster.self.role == RoleType::kChief && cluster.chief_hosts_worker) {
    return cluster.worker.empty() ? 0 : cluster.worker.begin()->first;
  }
  return std::nullopt;
}

/// Where this process is listed; empty for an evaluator that is not.
std::string ListedAddress(const ClusterSpec& cluster) {
  const auto& addresses = cluster.addresses(cluster.self.role);
  const auto found = addresses.find(cluster.self.index);
  return found == addresses.end() ? "" : found->second;
}

std::string WithPort(const std::string& address, int port) {
  return absl::StrCat(address.substr(0, address.rfind(':')), ":", port);
}

/// Ends the log with how the process ends, as one line.
int Conclude(const RoleEnd& end) {
  if (end.exit_code == 0) {
    LogInfo(end.reason.empty() ? "done" : end.reason);
  } else {
    LogError(end.reason);
  }
  return end.exit_code;
}

class MemberProcess {
 public:
  explicit MemberProcess(const MemberOptions& member)
      : ready_fd_(member.ready_fd),
        setup_{.cluster = member.cluster,
               .options = member.options,
               .job_name = member.job->name(),
               .job = member.job,
               .tensors_only = member.tensors_only} {}

  absl::StatusOr<int> Run() {
    WEIR_RETURN_IF_ERROR(Prepare());
    WEIR_ASSIGN_OR_RETURN(const bool done, AlreadyDone());
    if (done) return 0;
    WEIR_RETURN_IF_ERROR(Listen());
    WEIR_RETURN_IF_ERROR(ReportReady());
    const RoleEnd end = RunRoles();
    if (server_) server_->Shutdown(absl::Seconds(1));
    return Conclude(end);
  }

 private:
  absl::Status Prepare() {
    WEIR_RETURN_IF_ERROR(CheckRolesFitJob());
    if (MovesWeights()) WEIR_RETURN_IF_ERROR(CheckRdmaRoom(setup_.options));
    WEIR_ASSIGN_OR_RETURN(setup_.tls, LoadTls(setup_.options));
    auto layout =
        Layout::Create(setup_.job->tensors(), setup_.cluster.ps_count(), setup_.options.ps_threads);
    WEIR_RETURN_IF_ERROR(WithExitCode(layout.status(), ExitCode::kBadUsage));
    layout_.emplace(*std::move(layout));
    setup_.layout = &*layout_;
    setup_.max_steps = setup_.options.max_steps.value_or(setup_.job->default_max_steps());
    setup_.own_address = ListedAddress(setup_.cluster);
    return absl::OkStatus();
  }

  bool MovesWeights() const {
    return setup_.cluster.self.role == RoleType::kPs || HostedWorker(setup_.cluster).has_value();
  }

  absl::Status CheckRolesFitJob() const {
    const bool trains = HostedWorker(setup_.cluster).has_value();
    if (!setup_.tensors_only || (!trains && setup_.cluster.self.role != RoleType::kEvaluator)) {
      return absl::OkStatus();
    }
    return WithExitCode(
        absl::FailedPreconditionError(absl::StrCat(
            setup_.cluster.self.ToString(), ": job ", setup_.job_name, " has tensors only; ",
            trains ? "its workers are programs that use weir::Client: list them as worker, and "
                     "start them with their TF_CONFIG"
                   : "it has no data to evaluate: start no evaluator")),
        ExitCode::kBadUsage);
  }

  // A task that comes after the job's end has nothing to do.
  absl::StatusOr<bool> AlreadyDone() {
    const std::string& folder = setup_.options.model_dir;
    const Step max(setup_.max_steps);
    // What is no directory, or may not be read, is a bad --model-dir; a bad manifest in it is not.
    WEIR_RETURN_IF_ERROR(WithExitCode(ListCheckpoints(folder).status(), ExitCode::kBadUsage));
    if (setup_.cluster.self.role == RoleType::kPs) {
      WEIR_RETURN_IF_ERROR(CheckWritable(folder));  // it writes its part of checkpoints there
    }
    WEIR_ASSIGN_OR_RETURN(const auto final_one, FindFinal(folder, max));
    if (!final_one.has_value()) return false;
    LogInfo("nothing to do: ", final_one->name, " in ", folder, " has reached step ",
            setup_.max_steps);
    TellChief();
    if (HostsChief(setup_.cluster)) WEIR_RETURN_IF_ERROR(SummarizeNothing(*final_one));
    return true;
  }

  // Who asked for a summary gets one of a run without steps, too.
  absl::Status SummarizeNothing(const CheckpointPath& checkpoint) const {
    if (setup_.options.summary.empty()) return absl::OkStatus();
    chief::Summary summary;
    summary.job = setup_.job_name;
    summary.mode = setup_.options.mode;
    summary.ps = static_cast<std::uint64_t>(setup_.cluster.ps_count());
    summary.workers = static_cast<std::uint64_t>(setup_.cluster.worker_count());
    summary.global_step = checkpoint.step.value();
    summary.checkpoint = checkpoint.name;
    return chief::WriteSummary(summary, setup_.options.summary);
  }

  // A chief that lingers for this task learns that it came. Where there is none, that is quick.
  void TellChief() const {
    if (HostsChief(setup_.cluster)) return;
    const auto chief = rpc::ChiefClient::Create({.address = setup_.cluster.chief_address(),
                                                 .peer = "chief",
                                                 .token = setup_.options.token,
                                                 .tls = setup_.tls});
    const auto reply = chief->Join(JoinRequestOf(RoleFor(setup_.cluster.self)), absl::Seconds(1));
    if (!reply.ok()) LogDebug(reply.status().message());
  }

  absl::Status Listen() {
    if (HostsChief(setup_.cluster)) {
      chief_ = std::make_unique<ChiefRole>(RoleFor({RoleType::kChief, 0}));
    }
    if (setup_.cluster.self.role == RoleType::kPs) {
      ps_ = std::make_unique<PsRole>(RoleFor(setup_.cluster.self));
    }
    if (setup_.own_address.empty()) return absl::OkStatus();
    WEIR_ASSIGN_OR_RETURN(server_,
                          rpc::Server::Create({.who = setup_.cluster.self.ToString(),
                                               .address = setup_.own_address,
                                               .loopback_only = setup_.cluster.loopback_only,
                                               .token = setup_.options.token,
                                               .tls = setup_.tls},
                                              chief_.get(), ps_.get()));
    setup_.own_address = WithPort(setup_.own_address, server_->port());
    if (chief_) {
      setup_.cluster.chief.begin()->second = setup_.own_address;
      // Only now: where the address is in use, a running job's model directory stays untouched.
      WEIR_RETURN_IF_ERROR(chief_->Prepare(setup_.own_address));
    }
    if (!setup_.cluster.loopback_only) WarnOfOpenness();
    server_->SetServing(true);
    return absl::OkStatus();
  }

  void WarnOfOpenness() const {
    if (setup_.tls != nullptr) return;
    if (setup_.options.token.empty()) {
      LogWarning(setup_.cluster.self.ToString(), " listens beyond this machine without a token: ",
                 "anybody who reaches it may join; set WEIR_TOKEN or --token-file");
    } else {
      LogInfo("without --tls-cert, --tls-key and --tls-ca the token crosses the network in clear");
    }
  }

  absl::Status ReportReady() {
    if (ready_fd_ < 0) return absl::OkStatus();
    const UniqueFd fd(ready_fd_);
    const std::string line = absl::StrCat(server_ ? server_->port() : 0, "\n");
    if (write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      return absl::AbortedError("the process that started this one does not listen");
    }
    return absl::OkStatus();
  }

  RoleEnd RunRoles() {
    if (ps_) return ps_->Run(stop_, setup_.own_address);
    const std::optional<int> worker = HostedWorker(setup_.cluster);
    if (!chief_ && !worker.has_value()) {
      return EvaluatorRole(RoleFor(setup_.cluster.self)).Run(stop_);
    }
    if (!chief_) return WorkerRole(RoleFor({RoleType::kWorker, *worker})).Run(stop_);
    if (!worker.has_value()) {
      LogInfo("this chief coordinates; the listed workers train");
      return chief_->Run(stop_);
    }
    return RunChiefAndWorker(*worker);
  }

  RoleEnd RunChiefAndWorker(int index) {
    LogInfo("this process hosts the chief and worker ", index);
    RoleEnd worker_end;
    RoleEnd chief_end;
    {
      const std::jthread worker([&] {
        worker_end = WorkerRole(RoleFor({RoleType::kWorker, index})).Run(stop_);
        // A worker that could not even begin has no session whose end the chief would see.
        if (worker_end.exit_code != 0 && worker_end.exit_code != 4) {
          chief_->RequestStop(worker_end.reason);
        }
      });
      chief_end = chief_->Run(stop_);
    }
    // A chief that was stopped for its worker's sake ends well: the worker's reason is the one.
    const bool chief_failed = chief_end.exit_code != 0 && chief_end.exit_code != 4;
    const bool worker_failed = worker_end.exit_code != 0 && worker_end.exit_code != 4;
    return worker_failed && !chief_failed ? worker_end : chief_end;
  }

  RoleSetup RoleFor(const Task& task) const {
    RoleSetup setup = setup_;
    setup.task = task;
    return setup;
  }

  const int ready_fd_;
  RoleSetup setup_;
  std::optional<Layout> layout_;
  StopSignal stop_;
  std::unique_ptr<ChiefRole> chief_;
  std::unique_ptr<PsRole> ps_;
  std::unique_ptr<rpc::Server> server_;  // calls chief_ and ps_: goes first
};

}  // namespace

absl::StatusOr<int> RunMember(const MemberOptions& member) { return MemberProcess(member).Run(); }

absl::StatusOr<std::optional<MemberAssignment>> AssignedMember() {
  const char* text = std::getenv(kMemberVariable);
  if (text == nullptr) return std::optional<MemberAssignment>();
  WEIR_ASSIGN_OR_RETURN(MemberAssignment assignment, MemberAssignment::FromText(text));
  unsetenv(kMemberVariable);
  WEIR_RETURN_IF_ERROR(DieWithParent(assignment.parent));
  if (assignment.cpu >= 0) WEIR_RETURN_IF_ERROR(PinToCpu(assignment.cpu));
  if (!assignment.program.empty()) return BecomeProgram(assignment);
  return std::optional<MemberAssignment>(std::move(assignment));
}

absl::StatusOr<int> RunAssignedMember(const MemberAssignment& assignment, const Job& job,
                                      bool tensors_only) {
  WEIR_ASSIGN_OR_RETURN(const RunArguments parsed,
                        ParseRun(assignment.job_flags, ProcessEnvironment()));
  StartLogging(assignment.task.ToString(), parsed.job.log_level, parsed.job.log_format);
  return RunMember({.job = &job,
                    .tensors_only = tensors_only,
                    .cluster = assignment.ToCluster(),
                    .options = parsed.job,
                    .ready_fd = assignment.ready_fd});
}

}  // namespace weir
