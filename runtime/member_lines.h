#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "common/base/log.h"
#include "common/base/log_line.h"

namespace weir {

/// What one member of a local cluster writes to its stderr, made into whole lines that say whose
/// they are. A log record passes as it is; anything else (a library's last words, an error page)
/// gets "ps 0 | " in front, or becomes a record of its own where the log is JSON.
class MemberLines {
 public:
  /// `who`: "ps 0", as its log says.
  MemberLines(std::string who, int pid, LogFormat format);

  /// Takes the next bytes and returns the lines that they complete.
  std::string Take(absl::string_view bytes);
  /// What is left when the member has ended, as a line.
  std::string TakeRest();

  /// The last thing that it logged as an error, or that its error page began with; empty: none.
  const std::string& last_error() const { return last_error_; }

 private:
  std::string Tagged(absl::string_view line);
  void NoteRecord(absl::string_view line);

  const std::string who_;
  const int pid_;
  const LogFormat format_;
  std::string pending_;
  std::string last_error_;
};

}  // namespace weir
