// The part of a shard that hands out steps: only the one with the step counter does.
#include <algorithm>
#include <utility>

#include "ps_server/logic/shard.h"
#include "ps_server/logic/shard_worker.h"

namespace weir::ps {

void Shard::OnTicket(WorkerIndex index, const wire::TicketRequest& header) {
  Worker* worker = FindWorker(index, header.worker(), "ticket request");
  if (worker == nullptr) return;
  const auto refuse = [&](wire::TicketOutcome outcome) {
    output_.SendTicket(index, MakeTicketReply(header, outcome, global_step()));
  };
  if (header.request() == 0 || header.action() > wire::TicketAction::MAX) {
    refuse(wire::TicketOutcome::Invalid);
    return output_.CloseWorker(index, "a ticket request without a number or with no known action");
  }
  if (!options_.has_step_counter) return refuse(wire::TicketOutcome::Invalid);
  switch (StandingOf(*worker, Incarnation(header.incarnation()), ViewNumber(header.view()))) {
    case Standing::kStaleView:
      return refuse(wire::TicketOutcome::StaleView);
    case Standing::kFenced:
      return refuse(wire::TicketOutcome::Fenced);
    case Standing::kWelcome:
      return TakeTicketRequest(index, header);
  }
}

void Shard::TakeTicketRequest(WorkerIndex index, const wire::TicketRequest& header) {
  Worker& worker = *workers_[index.value()];
  const RequestId request(header.request());
  if (request < worker.ticket_request) return;
  if (request == worker.ticket_request) {
    if (worker.waiting) {
      worker.waiting = header;  // it may come over another connection now
    } else {
      output_.SendTicket(index, MakeTicketReply(header, worker.ticket_reply.outcome(),
                                                Step(worker.ticket_reply.step())));
    }
    return;
  }
  StopWaiting(index);
  worker.ticket_request = request;
  CountCompleted(index, Step(header.completed()));
  if (header.action() == wire::TicketAction::Release) {
    tickets_.GiveBack(index);
    AnswerTicket(index, header, wire::TicketOutcome::Released, global_step());
  } else if (!TryAnswerNext(index, header)) {
    worker.waiting = header;
    waiting_.push_back(index);
  }
  // What was completed or given back may be what others wait for.
  ServeWaiting();
}

void Shard::CountCompleted(WorkerIndex index, Step step) {
  if (step == Step(0) || !tickets_.Complete(index, step)) return;
  counters_.completed(index).fetch_add(1, std::memory_order_relaxed);
  counters_.global_step.store(global_step().value(), std::memory_order_relaxed);
  output_.StepCompleted(global_step());
}

bool Shard::TryAnswerNext(WorkerIndex index, const wire::TicketRequest& header) {
  if (tickets_.finished() || tickets_.stopped()) {
    tickets_.GiveBack(index);
    AnswerTicket(index, header, wire::TicketOutcome::Finished, global_step());
    return true;
  }
  // A worker that gave up its push and asks again goes on with the step that it holds.
  std::optional<Step> step = tickets_.held_by(index);
  if (!step) step = tickets_.Take(index);
  if (!step) return false;
  AnswerTicket(index, header, wire::TicketOutcome::Granted, *step);
  return true;
}

void Shard::ServeWaiting() {
  // In place and in order of arrival: nothing that is answered here makes another one wait.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    Worker& worker = *workers_[waiting_[i].value()];
    if (TryAnswerNext(waiting_[i], *worker.waiting)) {
      worker.waiting.reset();
    } else {
      waiting_[kept++] = waiting_[i];
    }
  }
  waiting_.resize(kept);
}

void Shard::StopWaiting(WorkerIndex index) {
  workers_[index.value()]->waiting.reset();
  std::erase(waiting_, index);
}

void Shard::StopTraining() {
  tickets_.Stop();
  ServeWaiting();
}

void Shard::AnswerTicket(WorkerIndex index, const wire::TicketRequest& header,
                         wire::TicketOutcome outcome, Step step) {
  wire::TicketReply& reply = workers_[index.value()]->ticket_reply;
  reply = MakeTicketReply(header, outcome, step);
  output_.SendTicket(index, reply);
}

wire::TicketReply Shard::MakeTicketReply(const wire::TicketRequest& header,
                                         wire::TicketOutcome outcome, Step step) const {
  return wire::TicketReply(header.session(), header.request(), step.value(), view_.value(), outcome,
                           0, 0);
}

}  // namespace weir::ps
