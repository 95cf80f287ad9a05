#include "runtime/chief_role.h"

#include <unistd.h>

#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "chief/summary.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/checkpoint_directory.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/model_dir.h"
#include "common/config/choice_flags.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

std::set<std::uint32_t> Indices(const std::map<int, std::string>& tasks) {
  std::set<std::uint32_t> indices;
  for (const auto& [index, address] : tasks) indices.insert(static_cast<std::uint32_t>(index));
  return indices;
}

}  // namespace

absl::Status ChiefRole::Prepare(const std::string& own_address) {
  const std::string& model_dir = setup_.options.model_dir;
  WEIR_RETURN_IF_ERROR(chief::CheckSummaryPath(setup_.options.summary));
  WEIR_RETURN_IF_ERROR(CheckWritable(model_dir));
  WEIR_ASSIGN_OR_RETURN(claim_, ClaimModelDir(model_dir));
  WEIR_RETURN_IF_ERROR(RemoveIncomplete(model_dir));
  WEIR_RETURN_IF_ERROR(FindCheckpoint());
  nonce_ = absl::StrCat(RandomId());
  WEIR_RETURN_IF_ERROR(WriteNonce(model_dir, nonce_));
  const auto tensors = setup_.layout->tensors();
  store_ = std::make_unique<ModelDirStore>(
      model_dir, ModelDirStore::Facts{.job = setup_.job_name,
                                      .optimizer = setup_.options.optimizer,
                                      .tensors = {tensors.begin(), tensors.end()},
                                      .shards = setup_.layout->shards(),
                                      .chief = incarnation_});
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<chief::Service> service,
                        chief::Service::Create(OptionsOf(own_address),
                                               absl::StrCat(model_dir, "/metrics.jsonl"), *store_));
  MutexLock lock(&mutex_);
  service_ = std::move(service);
  return absl::OkStatus();
}

absl::Status ChiefRole::FindCheckpoint() {
  WEIR_ASSIGN_OR_RETURN(const std::optional<CheckpointPath> newest,
                        NewestCheckpoint(setup_.options.model_dir));
  if (!newest.has_value()) return absl::OkStatus();
  // Another model's checkpoint is refused here, before anybody has joined.
  WEIR_ASSIGN_OR_RETURN(CheckpointReader reader, CheckpointReader::Open(newest->path));
  WEIR_RETURN_IF_ERROR(reader.Check(setup_.layout->tensors()));
  resume_ = newest->name;
  start_step_ = newest->step;
  resume_is_final_ = reader.manifest().is_final;
  LogInfo("resuming from ", newest->path, " at step ", newest->step.value());
  return absl::OkStatus();
}

chief::ChiefOptions ChiefRole::OptionsOf(const std::string& own_address) const {
  const JobOptions& job = setup_.options;
  chief::ChiefOptions options;
  options.ps = Indices(setup_.cluster.ps);
  options.workers = Indices(setup_.cluster.worker);
  if (options.workers.empty()) options.workers.insert(0);  // this process hosts it
  options.evaluators = Indices(setup_.cluster.evaluator);
  options.address = own_address;
  options.incarnation = incarnation_.value();
  options.pid = static_cast<std::uint32_t>(getpid());
  options.job = setup_.job_name;
  options.job_fingerprint = SettingsFingerprint(setup_);
  options.job_settings = SharedSettings(setup_);
  options.layout_fingerprint = setup_.layout->fingerprint();
  options.layout = DescribeLayout(*setup_.layout);
  TransportChoice transport = job.transport;
  options.transport = *TransportValue(transport).show();
  options.one_host = setup_.cluster.loopback_only;
  options.ps_threads = static_cast<std::uint32_t>(setup_.layout->threads());
  options.has_test_data = !setup_.tensors_only;
  options.mode = job.mode;
  options.model_dir_nonce = nonce_;
  options.start_step = start_step_;
  options.max_steps = Step(setup_.max_steps);
  options.resume_checkpoint = resume_;
  options.resume_is_final = resume_is_final_;
  options.batch_size = setup_.tensors_only ? 0 : job.batch_size;
  options.save_checkpoints_steps = job.save_checkpoints_steps;
  options.save_checkpoints_secs = job.save_checkpoints_secs;
  options.keep_checkpoint_max = job.keep_checkpoint_max;
  options.log_step_count_steps = job.log_step_count_steps;
  options.lease = job.lease;
  options.start_deadline = job.start_deadline;
  options.grace = job.grace;
  options.end_linger = job.end_linger;
  return options;
}

RoleEnd ChiefRole::Run(StopSignal& stop) {
  const StopSignal::Registration registration =
      stop.OnStop([this] { RequestStop("the chief was told to stop"); });
  const chief::Result result = service()->Wait();
  if (!setup_.options.summary.empty()) {
    const absl::Status written = chief::WriteSummary(result.summary, setup_.options.summary);
    if (!written.ok()) {
      return {static_cast<int>(ExitCode::kFailed), std::string(written.message())};
    }
  }
  return {result.exit_code, result.reason};
}

void ChiefRole::RequestStop(const std::string& reason) {
  if (const auto running = service()) running->RequestStop(reason);
}

std::shared_ptr<chief::Service> ChiefRole::service() {
  MutexLock lock(&mutex_);
  return service_;
}

absl::StatusOr<wire::JoinReplyT> ChiefRole::Join(const wire::JoinRequestT& request) {
  if (const auto running = service()) return running->Join(request);
  return absl::UnavailableError("the chief is starting");
}

absl::Status ChiefRole::Session(rpc::MemberStream& stream) {
  if (const auto running = service()) return running->Session(stream);
  return absl::UnavailableError("the chief is starting");
}

absl::StatusOr<wire::StatusReplyT> ChiefRole::GetStatus() {
  if (const auto running = service()) return running->GetStatus();
  return absl::UnavailableError("the chief is starting");
}

}  // namespace weir
