#include "common/config/flag_table.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/nearest.h"

namespace weir {
namespace {

constexpr absl::string_view kHelpFlag = "--help";

bool IsFlag(absl::string_view argument) { return argument.size() > 1 && argument.front() == '-'; }

// What people bring along from other programs, and what to write here.
std::string KnownElsewhere(absl::string_view name, const std::vector<std::string>& names) {
  if (std::ranges::find(names, "--log-level") == names.end()) return "";
  if (name == "--verbose" || name == "-v") return "; write --log-level debug";
  if (name == "--quiet" || name == "-q") return "; write --log-level warning";
  return "";
}

// One command line on its way through a table.
class Parser {
 public:
  Parser(std::span<const std::string> arguments, const FlagTable& table, Mistakes& mistakes)
      : arguments_(arguments), table_(table), mistakes_(mistakes) {}

  ParsedFlags Run() {
    while (next_ < arguments_.size()) {
      const absl::string_view argument = arguments_[next_++];
      if (argument == kHelpFlag || argument == "-h") {
        parsed_.help_requested = true;
      } else if (IsFlag(argument)) {
        ReadFlag(argument);
      } else {
        parsed_.positionals.emplace_back(argument);
      }
    }
    return std::move(parsed_);
  }

 private:
  void ReadFlag(absl::string_view argument) {
    const std::size_t equals = argument.find('=');
    const std::string name(argument.substr(0, equals));
    std::optional<absl::string_view> value;
    if (equals != absl::string_view::npos) value = argument.substr(equals + 1);
    const auto flag = std::find_if(table_.begin(), table_.end(),
                                   [&name](const Flag& row) { return row.name == name; });
    if (flag == table_.end()) return Unknown(name, value.has_value());
    if (flag->placeholder.empty()) {
      if (value.has_value()) return mistakes_.Add(name, "takes no value");
    } else if (!value.has_value() && flag->placeholder.front() == '[') {
      if (next_ < arguments_.size() && !IsFlag(arguments_[next_])) value = arguments_[next_++];
    } else if (!value.has_value()) {
      if (next_ == arguments_.size() || absl::StartsWith(arguments_[next_], "--"))
        return mistakes_.Add(name,
                             absl::StrCat("has no value; write ", name, " ", flag->placeholder));
      value = arguments_[next_++];
    }
    Set(*flag, value.value_or(""));
  }

  void Set(const Flag& flag, absl::string_view value) {
    if (!parsed_.given.insert(flag.name).second)
      return mistakes_.Add(flag.name, "is given twice; keep one");
    if (const absl::Status status = flag.value.set(value); !status.ok())
      mistakes_.Add(flag.name, status.message());
  }

  void Unknown(const std::string& name, bool has_value) {
    std::vector<std::string> names = {std::string(kHelpFlag)};
    for (const Flag& row : table_) names.push_back(row.name);
    std::string instead = KnownElsewhere(name, names);
    if (instead.empty()) instead = DidYouMean(name, names);
    mistakes_.Add(Printable(name),
                  absl::StrCat("is no flag", instead.empty() ? "; see --help" : instead));
    // Most flags take a value, so what follows is this one's rather than an argument of its own.
    if (!has_value && next_ < arguments_.size() && !IsFlag(arguments_[next_])) ++next_;
  }

  std::span<const std::string> arguments_;
  const FlagTable& table_;
  Mistakes& mistakes_;
  std::size_t next_ = 0;
  ParsedFlags parsed_;
};

std::string DefaultOf(const Flag& flag) {
  if (flag.placeholder.empty()) return "";
  return flag.default_text.empty() ? flag.value.show().value_or("") : flag.default_text;
}

std::string HelpLine(const FlagText& row) {
  const std::string head =
      row.placeholder.empty() ? row.name : absl::StrCat(row.name, " ", row.placeholder);
  const std::string tail =
      row.default_text.empty() ? "" : absl::StrCat(" [", row.default_text, "]");
  return absl::StrFormat("  %-31s %s%s\n", head, row.help, tail);
}

}  // namespace

ParsedFlags ParseFlags(std::span<const std::string> arguments, const FlagTable& table,
                       Mistakes& mistakes) {
  return Parser(arguments, table, mistakes).Run();
}

std::vector<FlagText> Describe(const FlagTable& table) {
  std::vector<FlagText> rows;
  for (const Flag& flag : table) {
    rows.push_back({flag.name, flag.placeholder, flag.help, DefaultOf(flag), flag.in_this_version});
  }
  rows.push_back({std::string(kHelpFlag), "", "show this", "", true});
  return rows;
}

std::string FlagsHelp(std::span<const FlagText> rows) {
  std::string known, later;
  for (const FlagText& row : rows) {
    if (row.in_this_version) {
      known += HelpLine(row);
    } else {
      absl::StrAppend(&later, later.empty() ? "" : ", ", row.name);
    }
  }
  if (!later.empty()) absl::StrAppend(&known, "Not in this version: ", later, "\n");
  return known;
}

std::vector<std::string> ShowFlags(const FlagTable& table) {
  std::vector<std::string> arguments;
  for (const Flag& flag : table) {
    const std::optional<std::string> value = flag.value.show();
    if (!value.has_value()) continue;
    arguments.push_back(flag.placeholder.empty() ? flag.name
                                                 : absl::StrCat(flag.name, "=", *value));
  }
  return arguments;
}

}  // namespace weir
