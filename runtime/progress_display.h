#pragma once

#include <memory>

#include "common/rpc/client.h"

namespace weir {

/// On a terminal: one live line of the job's progress below the members' log lines. Elsewhere:
/// nothing, and the members write to stderr themselves.
class ProgressDisplay {
 public:
  ProgressDisplay();
  ~ProgressDisplay();

  /// Where members' stderr is to go; -1: they keep this process's.
  int log_fd() const;
  /// Starts to ask this chief for its status.
  void Open(const rpc::ChannelOptions& chief);
  /// Draws the line anew; cheap, call it a few times a second.
  void Refresh();
  /// Prints what is left of the log and removes the line.
  void Close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;  // null where stderr is no terminal
};

}  // namespace weir
