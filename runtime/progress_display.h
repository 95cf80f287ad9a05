#pragma once

#include <memory>

#include "absl/strings/string_view.h"
#include "common/rpc/client.h"

namespace weir {

/// What a local cluster shows on stderr: the members' log lines and, on a terminal, one live line
/// of the job's progress below them.
class ProgressDisplay {
 public:
  ProgressDisplay();
  ~ProgressDisplay();

  /// Writes whole lines, above the live one. Any thread.
  void Write(absl::string_view lines);
  /// Takes the live line away, so that something else can be written; the next Refresh draws it.
  void Clear();
  /// Starts to ask this chief for its status.
  void Open(const rpc::ChannelOptions& chief);
  /// Draws the line anew; cheap, call it a few times a second.
  void Refresh();
  /// Clears, for good.
  void Close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
