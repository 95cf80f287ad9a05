#include <algorithm>
#include <span>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/commands.h"
#include "cli/generate.h"
#include "common/version/version.h"

namespace weir::cli {
namespace {

// Text for man(7): a hyphen would be typeset as one, and no line may begin with a control
// character.
std::string Escaped(const std::string& text) {
  std::string safe = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  if (!safe.empty() && (safe[0] == '.' || safe[0] == '\'')) safe.insert(0, "\\&");
  return safe;
}

// An argument of a macro.
std::string Argument(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(Escaped(text), {{"\"", "\\(dq"}}), "\"");
}

std::string Head(const std::string& page, const std::string& summary) {
  return absl::StrCat(".\\\" Written by `weir generate man`.\n.TH ",
                      Argument(absl::AsciiStrToUpper(page)), " 1 \"\" \"weir ", BuildVersion(),
                      "\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n", Escaped(page), " \\- ",
                      Escaped(summary), "\n");
}

std::string Options(const std::string& heading, std::span<const FlagText> flags) {
  std::string text = absl::StrCat(".SH ", Argument(heading), "\n");
  std::string later;
  for (const FlagText& flag : flags) {
    if (!flag.in_this_version) {
      absl::StrAppend(&later, later.empty() ? "" : ", ", flag.name);
      continue;
    }
    absl::StrAppend(&text, ".TP\n.BI ", Argument(flag.name));
    if (!flag.placeholder.empty()) absl::StrAppend(&text, " ", Argument(" " + flag.placeholder));
    absl::StrAppend(&text, "\n", Escaped(flag.help), ".\n");
    if (!flag.default_text.empty()) {
      absl::StrAppend(&text, "Default: ", Escaped(flag.default_text), ".\n");
    }
  }
  if (!later.empty()) absl::StrAppend(&text, ".PP\nNot in this version: ", Escaped(later), ".\n");
  return text;
}

// What every command shares.
constexpr char kTail[] = R"(.SH ENVIRONMENT
.TP
.B TF_CONFIG
The cluster and this process's task, as TensorFlow has them.
.TP
.B WEIR_TOKEN
The cluster's token.
.SH "EXIT STATUS"
.TP
.B 0
done, or stopped in order
.TP
.B 1
failed at run time
.TP
.B 2
bad arguments or configuration
.TP
.B 3
data or checkpoint missing or corrupt
.TP
.B 4
a peer was lost and the job cannot go on
.TP
.BR 130 ", " 143
ended by SIGINT or SIGTERM before an orderly end
)";

std::string Overview() {
  std::string text = Head("weir", "a parameter-server service");
  absl::StrAppend(&text,
                  ".SH SYNOPSIS\n.B weir\n.I COMMAND\n[FLAGS]\n.SH DESCRIPTION\n"
                  "Sharded servers hold a model's weights, workers push gradients and pull "
                  "weights, a chief keeps\nmembership and checkpoints, an evaluator judges "
                  "each checkpoint.\n.SH COMMANDS\n");
  std::string pages;
  for (const Command& command : Commands()) {
    absl::StrAppend(&text, ".TP\n.B ", Argument(absl::StrCat("weir ", command.name)), "\n",
                    Escaped(command.summary), "\n");
    absl::StrAppend(&pages, pages.empty() ? "" : ",\n", ".BR weir\\-", command.name, " (1)");
  }
  return absl::StrCat(text, kTail, ".SH \"SEE ALSO\"\n", pages, "\n");
}

}  // namespace

std::string ManPage(const std::string& name) {
  if (name.empty()) return Overview();
  const auto command = std::ranges::find(Commands(), name, &Command::name);
  if (command == Commands().end()) return "";
  std::string text = Head(absl::StrCat("weir-", name), command->summary);
  absl::StrAppend(&text, ".SH SYNOPSIS\n.B ", Argument(absl::StrCat("weir ", name)), "\n");
  if (!command->synopsis.empty()) absl::StrAppend(&text, Escaped(command->synopsis), "\n");
  if (command->flags != nullptr) absl::StrAppend(&text, Options("OPTIONS", command->flags()));
  for (const Verb& verb : command->verbs) {
    absl::StrAppend(&text, Options(absl::StrCat("OPTIONS OF ", absl::AsciiStrToUpper(verb.name)),
                                   verb.flags()));
  }
  return absl::StrCat(text, kTail, ".SH \"SEE ALSO\"\n.BR weir (1)\n");
}

}  // namespace weir::cli
