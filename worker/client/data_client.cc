#include "worker/client/data_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "worker/client/client_engine.h"

namespace weir {

/// What each call means for the engine: which operations of the logic to start, and what to wait
/// for.
class DataClient::Impl {
 public:
  Impl(const Layout& layout, const DataClientOptions& options,
       std::unique_ptr<net::Transport> transport)
      : layout_(layout),
        patience_(options.request_deadline),
        engine_(layout, options, std::move(transport)) {}

  ClientEngine& engine() { return engine_; }

  absl::Status Pull(ParameterBuffer& weights) {
    WEIR_RETURN_IF_ERROR(NoStepUnderWay());
    LetGoOfWeights();
    engine_.PullInto(&weights);
    const absl::Time now = MonotonicNow();
    logic().StartPull(now, now + patience_);
    return AwaitPull();
  }

  absl::Status Push(const ParameterBuffer& gradients, Step step) {
    WEIR_RETURN_IF_ERROR(NoStepUnderWay());
    LetGoOfWeights();
    engine_.PushFrom(gradients);
    const absl::Time now = MonotonicNow();
    logic().StartPush(now, step, now + patience_);
    return AwaitPush();
  }

  absl::StatusOr<std::optional<Step>> NextStep(std::optional<Step> completed,
                                               ParameterBuffer& weights) {
    WEIR_ASSIGN_OR_RETURN(const std::optional<Step> step, TakeStep(completed, weights));
    if (step.has_value()) WEIR_RETURN_IF_ERROR(AwaitPull());
    return step;
  }

  absl::StatusOr<std::optional<Step>> TakeStep(std::optional<Step> completed) {
    WEIR_RETURN_IF_ERROR(MayTakeStep());
    LetGoOfWeights();
    return AwaitStep(completed, NextWeights::kNone);
  }

  absl::Status Release(std::optional<Step> completed) {
    if (step_under_way_ && !pushed_any_) {
      logic().CancelExchange(MonotonicNow());
      step_under_way_ = false;
    }
    WEIR_RETURN_IF_ERROR(NoStepUnderWay());
    LetGoOfWeights();
    const absl::Time now = MonotonicNow();
    logic().StartTicket(now, completed, wire::TicketAction::Release, now + patience_);
    engine_.RunUntil([this] { return logic().ticket_result().has_value(); });
    return logic().ticket_result()->status();
  }

  absl::StatusOr<std::optional<Step>> BeginStep(std::optional<Step> completed,
                                                ParameterBuffer& weights,
                                                const ParameterBuffer& gradients) {
    WEIR_ASSIGN_OR_RETURN(const std::optional<Step> step, TakeStep(completed, weights));
    if (!step.has_value()) return step;
    weights_ = &weights;
    engine_.PushFrom(gradients);
    step_under_way_ = true;
    pushed_any_ = false;
    const absl::Time now = MonotonicNow();
    logic().StartExchange(now, *step, now + patience_);
    return step;
  }

  absl::Status AwaitTensor(std::size_t tensor) {
    WEIR_RETURN_IF_ERROR(StepUnderWay());
    if (!Exists(tensor)) return Failed(NoSuchTensor(tensor));
    if (logic().GradientIsReady(tensor)) {
      return Failed(absl::FailedPreconditionError(
          absl::StrCat("tensor ", tensor, " is awaited although its gradient was pushed already")));
    }
    engine_.RunUntil([&] { return logic().WeightsHere(tensor) || StepFailed(); });
    return StepFailed() ? Failed(*logic().push_result()) : absl::OkStatus();
  }

  absl::Status PushTensor(std::size_t tensor) {
    WEIR_RETURN_IF_ERROR(StepUnderWay());
    if (!Exists(tensor)) return Failed(NoSuchTensor(tensor));
    pushed_any_ = true;
    const bool first = logic().GradientReady(MonotonicNow(), tensor);
    engine_.RunOnce();
    if (StepFailed()) return Failed(*logic().push_result());
    if (first) return absl::OkStatus();
    return Failed(absl::FailedPreconditionError(
        absl::StrCat("the gradient of tensor ", tensor, " is pushed a second time in one step")));
  }

  absl::Status FinishStep() {
    WEIR_RETURN_IF_ERROR(StepUnderWay());
    if (!StepFailed() && !logic().all_gradients_ready()) {
      return Failed(absl::FailedPreconditionError(
          "the step is to be finished although some tensor's gradient was not pushed"));
    }
    WEIR_RETURN_IF_ERROR(AwaitPush());
    step_under_way_ = false;
    followed_into_ = std::exchange(weights_, nullptr);
    return absl::OkStatus();
  }

  void FailStep(const absl::Status& why) {
    if (step_under_way_) Failed(why).IgnoreError();
  }

 private:
  ClientLogic& logic() { return engine_.logic(); }

  absl::StatusOr<std::optional<Step>> TakeStep(std::optional<Step> completed,
                                               ParameterBuffer& weights) {
    WEIR_RETURN_IF_ERROR(MayTakeStep());
    const bool followed = std::exchange(followed_into_, nullptr) == &weights;
    engine_.PullInto(&weights);
    return AwaitStep(completed, followed ? NextWeights::kFollowed : NextWeights::kPullAll);
  }

  absl::Status MayTakeStep() {
    WEIR_RETURN_IF_ERROR(NoStepUnderWay());
    if (!engine_.interrupted()) return absl::OkStatus();
    return absl::CancelledError("the worker was told to take no step");
  }

  absl::StatusOr<std::optional<Step>> AwaitStep(std::optional<Step> completed,
                                                NextWeights weights) {
    logic().StartNextStep(MonotonicNow(), completed, weights, patience_);
    engine_.RunUntil([this] {
      TellOfRenewals();
      return logic().next_step_result().has_value();
    });
    const absl::StatusOr<TicketResult> ticket = *logic().next_step_result();
    if (ticket.ok() && ticket->outcome == wire::TicketOutcome::Granted) {
      return std::optional<Step>(ticket->step);
    }
    LetGoOfWeights();  // a pull may be left: what comes of it has no place to go
    if (!ticket.ok()) return ticket.status();
    return std::optional<Step>();
  }

  void TellOfRenewals() {
    if (std::exchange(renewals_told_, logic().ticket_renewals()) == logic().ticket_renewals()) {
      return;
    }
    LogInfo("still waiting for a step: other workers hold all that remain, or ps 0 is slow");
  }

  absl::Status AwaitPull() {
    engine_.RunUntil([this] { return logic().pull_result().has_value(); });
    const absl::Status result = *logic().pull_result();
    // What is still read from afar into the weights must end before the caller has them again.
    if (!result.ok()) engine_.Quiesce();
    engine_.PullInto(nullptr);
    return result;
  }

  absl::Status AwaitPush() {
    engine_.RunUntil([this] { return logic().push_result().has_value(); });
    const absl::Status result = *logic().push_result();
    return result.ok() ? result : Failed(result);
  }

  /// Nothing of what follows the last step is wanted.
  void LetGoOfWeights() {
    followed_into_ = nullptr;
    engine_.PullInto(nullptr);
  }

  /// The step, and with it the client's use, is over: nobody here reads or writes the buffers any
  /// more.
  absl::Status Failed(absl::Status why) {
    step_under_way_ = false;
    engine_.QuarantineGradients();
    engine_.Abort(why);
    logic().Abort(MonotonicNow(), why);
    engine_.Quiesce();
    LetGoOfWeights();
    return why;
  }

  bool StepFailed() { return logic().push_result() && !logic().push_result()->ok(); }

  absl::Status StepUnderWay() const {
    if (step_under_way_) return absl::OkStatus();
    return absl::FailedPreconditionError("no step is under way: BeginStep grants one");
  }
  absl::Status NoStepUnderWay() const {
    if (!step_under_way_) return absl::OkStatus();
    return absl::FailedPreconditionError("a step is under way: FinishStep ends it");
  }
  bool Exists(std::size_t tensor) const { return tensor < layout_.tensors().size(); }
  absl::Status NoSuchTensor(std::size_t tensor) const {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no tensor ", tensor, ": the model has ", layout_.tensors().size()));
  }

  const Layout& layout_;
  const absl::Duration patience_;
  ClientEngine engine_;
  bool step_under_way_ = false;               // granted by BeginStep and not finished
  bool pushed_any_ = false;                   // of its tensors
  ParameterBuffer* weights_ = nullptr;        // of the step under way
  ParameterBuffer* followed_into_ = nullptr;  // where the pull behind the last step goes
  std::uint64_t renewals_told_ = 0;
};

absl::StatusOr<std::unique_ptr<DataClient>> DataClient::Connect(
    const Layout& layout, const DataClientOptions& options,
    std::unique_ptr<net::Transport> transport, const ShardConnector& connector) {
  auto impl = std::make_unique<Impl>(layout, options, std::move(transport));
  WEIR_RETURN_IF_ERROR(impl->engine().ConnectAll(connector));
  return std::unique_ptr<DataClient>(new DataClient(std::move(impl)));
}

DataClient::DataClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DataClient::~DataClient() = default;

absl::StatusOr<ParameterBuffer> DataClient::AllocateParameters() {
  return impl_->engine().AllocateParameters();
}
absl::Status DataClient::Pull(ParameterBuffer& weights) { return impl_->Pull(weights); }
absl::Status DataClient::Push(const ParameterBuffer& gradients, Step step) {
  return impl_->Push(gradients, step);
}
absl::StatusOr<std::optional<Step>> DataClient::NextStep(std::optional<Step> completed,
                                                         ParameterBuffer& weights) {
  return impl_->NextStep(completed, weights);
}
absl::StatusOr<std::optional<Step>> DataClient::TakeStep(std::optional<Step> completed) {
  return impl_->TakeStep(completed);
}
absl::Status DataClient::Release(std::optional<Step> completed) {
  return impl_->Release(completed);
}
absl::StatusOr<std::optional<Step>> DataClient::BeginStep(std::optional<Step> completed,
                                                          ParameterBuffer& weights,
                                                          const ParameterBuffer& gradients) {
  return impl_->BeginStep(completed, weights, gradients);
}
absl::Status DataClient::AwaitTensor(std::size_t tensor) { return impl_->AwaitTensor(tensor); }
absl::Status DataClient::PushTensor(std::size_t tensor) { return impl_->PushTensor(tensor); }
absl::Status DataClient::FinishStep() { return impl_->FinishStep(); }
void DataClient::FailStep(const absl::Status& why) { impl_->FailStep(why); }
void DataClient::OnView(ViewNumber view) { impl_->engine().OnView(view); }
void DataClient::Abort(const absl::Status& why) { impl_->engine().Abort(why); }
void DataClient::Interrupt() { impl_->engine().Interrupt(); }
std::vector<std::pair<ShardIndex, std::string>> DataClient::paths() const {
  return impl_->engine().paths();
}
std::uint64_t DataClient::pushes_acknowledged() const {
  return impl_->engine().logic().pushes_acknowledged();
}
DataClient::MappedReads DataClient::mapped_reads() const { return impl_->engine().mapped_reads(); }
std::uint64_t DataClient::mapped_pushes() const { return impl_->engine().mapped_pushes(); }
std::uint64_t DataClient::one_sided_pushes() const { return impl_->engine().one_sided_pushes(); }
DataClient::MappedReads DataClient::one_sided_reads() const {
  return impl_->engine().one_sided_reads();
}
std::uint64_t DataClient::strangers_messages() const {
  return impl_->engine().strangers_messages();
}

}  // namespace weir
