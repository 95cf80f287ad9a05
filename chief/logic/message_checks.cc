#include "chief/logic/message_checks.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace weir::chief {
namespace {

constexpr std::size_t kMaxTextBytes = 64 * 1024;
constexpr std::size_t kMaxNameBytes = 255;
constexpr std::size_t kMaxPaths = 65536;
constexpr std::size_t kMaxPathBytes = 1000;  // a path's text says why there is no better one
constexpr std::size_t kMaxWorkers = 65536;   // an index is 16 bits wide on the data path
constexpr std::size_t kMaxStalenessBuckets = 4096;
constexpr std::size_t kMaxLoggedBytes = 500;

absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(what); }

absl::Status CheckStep(absl::string_view of, std::uint64_t step, const MessageLimits& limits) {
  if (step <= limits.last_step.value()) return absl::OkStatus();
  return Bad(
      absl::StrCat(of, " names step ", step, ", beyond the last, ", limits.last_step.value()));
}

absl::Status CheckText(absl::string_view of, const std::string& text) {
  if (text.size() <= kMaxTextBytes) return absl::OkStatus();
  return Bad(absl::StrCat(of, " has a text of ", text.size(), " bytes"));
}

absl::Status CheckThread(std::uint32_t thread, const MessageLimits& limits) {
  if (thread < limits.ps_threads) return absl::OkStatus();
  return Bad(absl::StrCat("it names thread ", thread, " of ", limits.ps_threads));
}

absl::Status CheckStats(const wire::ShardStatsT* stats) {
  if (stats == nullptr) return Bad("its statistics are missing");
  if (stats->staleness.size() > kMaxStalenessBuckets || stats->applied.size() > kMaxWorkers ||
      stats->completed.size() > kMaxWorkers) {
    return Bad("its statistics have too many entries");
  }
  return absl::OkStatus();
}

absl::Status CheckFileName(const std::string& file) {
  if (file.empty() || file.size() > kMaxNameBytes || file == "." || file == ".." ||
      file.find('/') != std::string::npos || file.find('\0') != std::string::npos) {
    return Bad(absl::StrCat("CheckpointDone names the file \"", ForLog(file),
                            "\", which is not a plain file name"));
  }
  return absl::OkStatus();
}

absl::Status CheckCheckpointDone(const wire::CheckpointDoneT& done, const MessageLimits& limits) {
  WEIR_RETURN_IF_ERROR(CheckThread(done.thread, limits));
  WEIR_RETURN_IF_ERROR(CheckText("CheckpointDone", done.error));
  if (done.stats != nullptr) WEIR_RETURN_IF_ERROR(CheckStats(done.stats.get()));
  if (done.worker_clocks.size() > kMaxWorkers) return Bad("CheckpointDone has too many clocks");
  if (!done.ok) return absl::OkStatus();
  // A shard without blocks may have written nothing.
  const bool nothing = done.file.empty() && done.entries.empty() && done.file_bytes == 0;
  if (!nothing) WEIR_RETURN_IF_ERROR(CheckFileName(done.file));
  for (const auto& entry : done.entries) {
    if (entry == nullptr || entry->tensor.empty() || entry->tensor.size() > kMaxTextBytes ||
        entry->offset + entry->elements < entry->offset) {
      return Bad("CheckpointDone has an entry without a tensor or with an impossible range");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPaths(const wire::PathsT& paths) {
  if (paths.paths.size() > kMaxPaths) return Bad("Paths has too many entries");
  for (const auto& used : paths.paths) {
    if (used == nullptr || used->to_role > wire::Role::Evaluator || used->path.empty() ||
        used->path.size() > kMaxPathBytes) {
      return Bad("Paths has an entry without a peer or a path");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckEvaluation(const wire::EvaluationDoneT& done, const MessageLimits& limits) {
  WEIR_RETURN_IF_ERROR(CheckStep("EvaluationDone", done.step, limits));
  WEIR_RETURN_IF_ERROR(CheckText("EvaluationDone", done.error));
  if (done.error.empty() && !(done.accuracy >= 0.0F && done.accuracy <= 1.0F)) {
    return Bad("EvaluationDone has an accuracy outside 0 to 1");
  }
  return absl::OkStatus();
}

absl::Status CheckTrainingLine(const wire::TrainingLineT& line, const MessageLimits& limits) {
  // Any loss is possible, NaN too; a rate is not.
  if (!std::isfinite(line.steps_per_second) || line.steps_per_second < 0.0F) {
    return Bad("TrainingLine has an impossible rate");
  }
  return CheckStep("TrainingLine", line.step, limits);
}

absl::Status CheckHeartbeat(const wire::HeartbeatT& heartbeat, const MessageLimits& limits) {
  if (heartbeat.view > limits.view.value()) {
    return Bad(absl::StrCat("Heartbeat names view ", heartbeat.view, ", the newest is ",
                            limits.view.value()));
  }
  return CheckStep("Heartbeat", heartbeat.step, limits);
}

bool MaySend(wire::Role from, wire::MemberBody body) {
  switch (body) {
    case wire::MemberBody::Heartbeat:
    case wire::MemberBody::Paths:
    case wire::MemberBody::Goodbye:
    case wire::MemberBody::StopRequested:
      return true;
    case wire::MemberBody::TrainingLine:
    case wire::MemberBody::Finished:
      return from == wire::Role::Worker;
    case wire::MemberBody::StepReached:
    case wire::MemberBody::CheckpointDone:
    case wire::MemberBody::Stats:
      return from == wire::Role::Ps;
    case wire::MemberBody::EvaluationDone:
      return from == wire::Role::Evaluator || from == wire::Role::Worker;
    case wire::MemberBody::NONE:
      return false;
  }
  return false;
}

}  // namespace

std::string ForLog(const std::string& text) {
  std::string line = text.substr(0, kMaxLoggedBytes);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  if (text.size() > kMaxLoggedBytes) line += "...";
  return line;
}

absl::Status CheckMessage(wire::Role from, const wire::MemberMessageT& message,
                          const MessageLimits& limits) {
  const wire::MemberBodyUnion& body = message.body;
  if (!MaySend(from, body.type) || body.value == nullptr) {
    return Bad(absl::StrCat("message kind ", static_cast<int>(body.type),
                            " is not one that this role sends"));
  }
  switch (body.type) {
    case wire::MemberBody::Heartbeat:
      return CheckHeartbeat(*body.AsHeartbeat(), limits);
    case wire::MemberBody::TrainingLine:
      return CheckTrainingLine(*body.AsTrainingLine(), limits);
    case wire::MemberBody::StepReached:
      return CheckStep("StepReached", body.AsStepReached()->step, limits);
    case wire::MemberBody::CheckpointDone:
      return CheckCheckpointDone(*body.AsCheckpointDone(), limits);
    case wire::MemberBody::EvaluationDone:
      return CheckEvaluation(*body.AsEvaluationDone(), limits);
    case wire::MemberBody::Finished:
      return CheckText("Finished", body.AsFinished()->reason);
    case wire::MemberBody::StopRequested:
      return CheckText("StopRequested", body.AsStopRequested()->reason);
    case wire::MemberBody::Paths:
      return CheckPaths(*body.AsPaths());
    case wire::MemberBody::Stats:
      WEIR_RETURN_IF_ERROR(CheckThread(body.AsStats()->thread, limits));
      return CheckStats(body.AsStats()->stats.get());
    case wire::MemberBody::Goodbye:
      return CheckText("Goodbye", body.AsGoodbye()->reason);
    case wire::MemberBody::NONE:
      break;
  }
  return Bad("the message is empty");
}

}  // namespace weir::chief
