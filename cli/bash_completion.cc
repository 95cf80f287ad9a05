#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "cli/generate.h"

namespace weir::cli {
namespace {

bool IsWord(absl::string_view text) {
  return !text.empty() && absl::ascii_islower(text.front()) &&
         std::ranges::all_of(text, [](char c) { return absl::ascii_islower(c) || c == '-'; });
}

// "ls DIR | show CHECKPOINT": what stands there in lower case is to be written as it is.
std::vector<std::string> WordsOf(const Command& command) {
  std::vector<std::string> words;
  for (absl::string_view word : absl::StrSplit(command.synopsis, absl::ByAnyChar(" |[]"))) {
    if (IsWord(word)) words.emplace_back(word);
  }
  return words;
}

std::string ValuesOf(const FlagText& flag) {
  const std::string& placeholder = flag.placeholder;
  if (absl::StrContains(placeholder, "DIR")) return "-d";
  if (absl::StrContains(placeholder, "FILE")) return "-f";
  const std::vector<std::string> choices = absl::StrSplit(placeholder, '|');
  if (choices.size() > 1 && std::ranges::all_of(choices, [](const auto& c) { return IsWord(c); })) {
    return absl::StrCat("-W '", absl::StrJoin(choices, " "), "'");
  }
  return "";
}

// The flags of a command and of its verbs, each once.
std::vector<FlagText> FlagsOf(const Command& command) {
  std::vector<FlagText> flags;
  if (command.flags != nullptr) flags = command.flags();
  for (const Verb& verb : command.verbs) {
    for (FlagText& flag : verb.flags()) {
      if (std::ranges::find(flags, flag.name, &FlagText::name) == flags.end())
        flags.push_back(std::move(flag));
    }
  }
  return flags;
}

// How the value of each flag is completed; a flag means the same in every command.
std::map<std::string, std::set<std::string>> FlagsByValues() {
  std::map<std::string, std::set<std::string>> flags;
  for (const Command& command : Commands()) {
    for (const FlagText& flag : FlagsOf(command)) {
      if (!flag.placeholder.empty() && flag.in_this_version)
        flags[ValuesOf(flag)].insert(flag.name);
    }
  }
  return flags;
}

}  // namespace

std::string BashCompletion() {
  std::vector<std::string> names = {"--help", "--version"};
  std::string cases;
  for (const Command& command : Commands()) {
    names.push_back(command.name);
    std::vector<std::string> words = WordsOf(command);
    for (const FlagText& flag : FlagsOf(command)) {
      if (flag.in_this_version) words.push_back(flag.name);
    }
    absl::StrAppend(&cases, "    ", command.name, ") words='", absl::StrJoin(words, " "), "' ;;\n");
  }
  std::string values;
  for (const auto& [how, flags] : FlagsByValues()) {
    absl::StrAppend(
        &values, "    ", absl::StrJoin(flags, "|"), ") ",
        how.empty() ? "" : absl::StrCat("COMPREPLY=($(compgen ", how, " -- \"$current\")); "),
        "return ;;\n");
  }
  return absl::StrCat(R"(# bash completion for weir. Written by `weir generate completion`.
_weir() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ')",
                      absl::StrJoin(names, " "), R"(' -- "$current"))
    return
  fi
  case $previous in
)",
                      values, R"(  esac
  case ${COMP_WORDS[1]} in
)",
                      cases, R"(  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  # What is no flag may be a path: a model directory, a program.
  [[ $current == -* ]] || COMPREPLY+=($(compgen -f -- "$current"))
}
complete -F _weir weir
)");
}

}  // namespace weir::cli
