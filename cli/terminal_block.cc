#include "cli/terminal_block.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace weir::cli {
namespace {

struct Size {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

Size TerminalSize() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 2 || size.ws_col < 2) return {};
  return {size.ws_row, size.ws_col};
}

// A line that wraps, or a block that scrolls, would leave its beginning behind when drawn anew.
std::vector<std::string> Fitting(absl::string_view text) {
  const Size size = TerminalSize();
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  if (lines.size() > size.rows - 1) {
    const std::size_t left_out = lines.size() - (size.rows - 2);
    lines.resize(size.rows - 2);
    lines.push_back(absl::StrCat("  ... and ", left_out, " more lines"));
  }
  for (std::string& line : lines) {
    if (line.size() >= size.columns) line.resize(size.columns - 1);
  }
  return lines;
}

bool Put(const std::string& text) {
  return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
}

}  // namespace

TerminalBlock::TerminalBlock() : in_place_(isatty(STDOUT_FILENO) == 1) {
  if (!in_place_) return;
  termios settings{};
  if (isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &settings) == 0) {
    before_ = settings;
    settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &settings);
  }
  Put("\x1b[?25l");  // no cursor
}

TerminalBlock::~TerminalBlock() {
  if (!in_place_) return;
  Put("\x1b[?25h");
  if (before_.has_value()) tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
}

bool TerminalBlock::Show(absl::string_view lines) {
  if (!in_place_) return Put(std::string(lines));
  Erase();
  std::string text;
  for (const std::string& line : Fitting(lines)) {
    absl::StrAppend(&text, line, "\n");
    ++shown_lines_;
  }
  return Put(text);
}

void TerminalBlock::Erase() {
  if (shown_lines_ == 0) return;
  Put(absl::StrCat("\x1b[", shown_lines_, "A\r\x1b[J"));  // up, then clear to the screen's end
  shown_lines_ = 0;
}

}  // namespace weir::cli
