#include "weir/client.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/ids.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/model/tensor_name.h"
#include "runtime/client_setup.h"
#include "runtime/worker_member.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

absl::Status StatusOf(const RoleEnd& end) {
  if (end.exit_code == 0) return WithExitCode(absl::CancelledError(end.reason), ExitCode::kDone);
  return WithExitCode(absl::UnavailableError(end.reason), static_cast<ExitCode>(end.exit_code));
}

bool EndedWell(const absl::Status& status) {
  return absl::IsCancelled(status) && ExitCodeOf(status) == ExitCode::kDone;
}

}  // namespace

class Parameters::Impl {
 public:
  Impl(ParameterBuffer buffer, std::span<const TensorSpec> tensors, const void* owner)
      : buffer(std::move(buffer)), owner(owner) {
    for (const TensorSpec& tensor : tensors) names.push_back(tensor.name);
  }
  ParameterBuffer buffer;
  std::vector<std::string> names;
  const void* owner;  // compared only
};

Parameters::Parameters(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Parameters::Parameters(Parameters&&) noexcept = default;
Parameters& Parameters::operator=(Parameters&&) noexcept = default;
Parameters::~Parameters() = default;

std::size_t Parameters::size() const { return impl_->names.size(); }
std::span<float> Parameters::operator[](std::size_t tensor) { return impl_->buffer.tensor(tensor); }
std::span<const float> Parameters::operator[](std::size_t tensor) const {
  return impl_->buffer.view()[tensor];
}
absl::StatusOr<std::span<float>> Parameters::Named(const std::string& name) {
  const auto found = std::ranges::find(impl_->names, name);
  if (found == impl_->names.end()) {
    return absl::NotFoundError(absl::StrCat("there is no tensor ", QuotedName(name)));
  }
  return (*this)[static_cast<std::size_t>(found - impl_->names.begin())];
}

class Client::Impl {
 public:
  Impl(RoleSetup setup, Layout layout) : layout_(std::move(layout)) {
    setup.layout = &layout_;
    member_.emplace(std::move(setup), nullptr);
  }

  ~Impl() {
    if (data_ == nullptr) return;
    // Whether or not its ps still answers: the client goes.
    if (const absl::Status told = data_->Release(completed_); !told.ok())
      LogWarning(told.message());
    Part({0, "its program left"});
  }

  absl::Status Connect() {
    const auto connected = [this]() -> absl::Status {
      WEIR_RETURN_IF_ERROR(member_->Join());
      WEIR_ASSIGN_OR_RETURN(data_, member_->Connect());
      return absl::OkStatus();
    }();
    if (connected.ok()) return connected;
    // A refusal is the caller's to read as it came.
    member_->Leave(member_->CauseOf(connected));
    return connected;
  }

  absl::StatusOr<Parameters> AllocateParameters() {
    WEIR_RETURN_IF_ERROR(Usable());
    WEIR_ASSIGN_OR_RETURN(ParameterBuffer buffer, data_->AllocateParameters());
    return Parameters(
        std::make_unique<Parameters::Impl>(std::move(buffer), layout_.tensors(), this));
  }

  absl::Status Pull(Parameters& weights) {
    WEIR_RETURN_IF_ERROR(UsableWith(weights));
    return Judge(data_->Pull(weights.impl_->buffer));
  }

  absl::StatusOr<std::optional<std::uint64_t>> NextStep(Parameters& weights) {
    WEIR_RETURN_IF_ERROR(UsableWith(weights));
    if (held_.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat("step ", held_->value(), " is held: Push for it first"));
    }
    WEIR_RETURN_IF_ERROR(Take(data_->NextStep(completed_, weights.impl_->buffer)));
    if (!held_.has_value()) return std::optional<std::uint64_t>();
    return std::optional(held_->value());
  }

  absl::Status Push(const Parameters& gradients) {
    WEIR_RETURN_IF_ERROR(UsableWith(gradients));
    if (!held_.has_value()) WEIR_RETURN_IF_ERROR(Take(data_->TakeStep(completed_)));
    if (!held_.has_value()) return absl::OutOfRangeError("no step is left: call Finish");
    WEIR_RETURN_IF_ERROR(Judge(data_->Push(gradients.impl_->buffer, *held_)));
    completed_ = std::exchange(held_, std::nullopt);
    ++clock_;
    member_->OnPush();
    return absl::OkStatus();
  }

  std::uint64_t clock() const { return clock_; }
  std::uint64_t global_step() const { return newest_.value(); }

  void ReportLoss(float loss) {
    loss_ = loss;
    if (data_ == nullptr) return;
    wire::TrainingLineT line;
    line.step = newest_.value();
    line.loss = loss;
    wire::MemberBodyUnion body;
    body.Set(std::move(line));
    member_->Report(std::move(body));
  }

  absl::Status Finish() {
    absl::Status usable = Usable();
    if (usable.ok()) usable = Judge(data_->Release(completed_));
    if (!usable.ok()) {
      if (!EndedWell(usable)) return usable;
      over_ = Finished();
      return absl::OkStatus();
    }
    wire::FinishedT finished;
    finished.steps = clock_;
    finished.pushes_acknowledged = data_->pushes_acknowledged();
    finished.one_sided_bytes = data_->one_sided_reads().bytes;
    data_ = nullptr;
    member_->Disconnect();
    finished.final_loss = loss_;
    finished.reason = none_left_ ? "no steps left" : "its program has finished";
    member_->ReportFinished(std::move(finished));
    const RoleEnd end = WaitForEnd();
    member_->Leave(end);
    over_ = Finished();
    return end.exit_code == 0 ? absl::OkStatus() : StatusOf(end);
  }

 private:
  static absl::Status Finished() { return absl::FailedPreconditionError("Finish was called"); }

  absl::Status Usable() const { return over_; }

  absl::Status UsableWith(const Parameters& parameters) const {
    if (!over_.ok()) return over_;
    if (parameters.impl_ != nullptr && parameters.impl_->owner == this) return absl::OkStatus();
    return absl::InvalidArgumentError("these Parameters are another client's: allocate them here");
  }

  /// Keeps the step that an answer holds; what was reported with it is.
  absl::Status Take(const absl::StatusOr<std::optional<Step>>& step) {
    WEIR_RETURN_IF_ERROR(Judge(step.status()));
    completed_.reset();
    held_ = *step;
    none_left_ = !held_.has_value();
    if (held_.has_value()) newest_ = *held_;
    return absl::OkStatus();
  }

  /// What failed once has ended this client's part in the job.
  absl::Status Judge(const absl::Status& status) {
    if (status.ok()) return status;
    const RoleEnd cause = member_->CauseOf(status);
    over_ = StatusOf(cause);
    Part(cause);
    return over_;
  }

  void Part(const RoleEnd& end) {
    data_ = nullptr;
    member_->Disconnect();
    member_->Leave(end);
  }

  RoleEnd WaitForEnd() {
    while (true) {
      // Evaluations are not asked of programs: only the end can come.
      if (WorkerMember::Next next = member_->WaitForNext(); next.end) return *std::move(next.end);
    }
  }

  const Layout layout_;
  std::optional<WorkerMember> member_;
  DataClient* data_ = nullptr;  // the member's; null: this client's part is over
  absl::Status over_;           // why
  std::optional<Step> held_;
  std::optional<Step> completed_;  // and not reported yet
  Step newest_;
  bool none_left_ = false;
  std::uint64_t clock_ = 0;
  float loss_ = std::numeric_limits<float>::quiet_NaN();
};

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(ClientConfig config) {
  WEIR_ASSIGN_OR_RETURN(RoleSetup setup, SetupOfClient(config, ProcessEnvironment()));
  auto layout = Layout::Create(std::move(config.tensors), setup.cluster.ps_count());
  WEIR_RETURN_IF_ERROR(WithExitCode(layout.status(), ExitCode::kBadUsage));
  StartLogging(setup.task.ToString(), LogLevel::kInfo);
  auto impl = std::make_unique<Impl>(std::move(setup), *std::move(layout));
  WEIR_RETURN_IF_ERROR(impl->Connect());
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

absl::StatusOr<Parameters> Client::AllocateParameters() { return impl_->AllocateParameters(); }
absl::Status Client::Pull(Parameters& weights) { return impl_->Pull(weights); }
absl::StatusOr<std::optional<std::uint64_t>> Client::NextStep(Parameters& weights) {
  return impl_->NextStep(weights);
}
absl::Status Client::Push(const Parameters& gradients) { return impl_->Push(gradients); }
std::uint64_t Client::Clock() const { return impl_->clock(); }
std::uint64_t Client::GlobalStep() const { return impl_->global_step(); }
void Client::ReportLoss(float loss) { impl_->ReportLoss(loss); }
absl::Status Client::Finish() { return impl_->Finish(); }

}  // namespace weir
