#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "chief/logic/checkpoint_record.h"
#include "chief/logic/member_id.h"
#include "common/base/log.h"
#include "schemas/chief_generated.h"

namespace weir::chief {

/// What the chief's logic wants done. No call blocks and none calls back into the logic.
class ChiefOutput {
 public:
  virtual ~ChiefOutput() = default;
  /// Queues a message. A session that takes no more is reported later by OnSessionClosed.
  virtual void Send(SessionId to, wire::ChiefMessageT message) = 0;
  /// Ends the stream at once; what is still queued may be lost.
  virtual void CloseSession(SessionId session, absl::string_view why) = 0;
  /// Answered by Chief::OnCheckpointCommitted. Older checkpoints are pruned afterwards.
  virtual void CommitCheckpoint(CheckpointRecord record) = 0;
  /// Answered by Chief::OnCheckpointMarkedFinal.
  virtual void MarkFinal(const std::string& folder) = 0;
  virtual void AppendMetrics(const std::string& json_line) = 0;
  virtual void Log(LogLevel level, absl::string_view text) = 0;
  /// The job is over for the chief too. Called once; joins are answered even afterwards.
  virtual void Finish(int exit_code, const std::string& reason) = 0;
};

}  // namespace weir::chief
