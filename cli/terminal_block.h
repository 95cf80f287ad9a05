#pragma once

#include <termios.h>

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace weir::cli {

/// Text on stdout, shown again and again: in the same place on a terminal, which is left as it was
/// found; one block below the other elsewhere.
class TerminalBlock {
 public:
  TerminalBlock();
  /// Gives the terminal its cursor and its echo back.
  ~TerminalBlock();
  TerminalBlock(const TerminalBlock&) = delete;
  TerminalBlock& operator=(const TerminalBlock&) = delete;

  bool in_place() const { return in_place_; }
  /// Shows whole lines, cut to what the terminal can hold. False: nobody can see it any more.
  bool Show(absl::string_view lines);
  /// Takes what was shown away, where that can be done.
  void Erase();

 private:
  const bool in_place_;
  std::optional<termios> before_;  // of stdin, whose echo would write into the block
  int shown_lines_ = 0;
};

}  // namespace weir::cli
