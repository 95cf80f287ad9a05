#include "common/config/config_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/strict_json.h"
#include "common/config/nearest.h"
#include "common/config/shown_json.h"
#include "common/config/small_file.h"

namespace weir {
namespace {

using nlohmann::json;

// Written by people: anything larger or deeper is something else.
constexpr JsonLimits kLimits{.bytes = 1 << 20, .depth = 8};
constexpr char kFlag[] = "--config";
constexpr char kInstead[] = "write {\"batch-size\": 128, ...}";

std::string KeyOf(const Flag& flag) { return flag.name.substr(2); }

// The text that a flag's `set` takes for `value`; none, and `fault`, where it is of another type.
// A switch that is false has no text, and no fault.
std::optional<std::string> TextOf(const json& value, ValueKind kind, std::string& fault) {
  const bool is_number = value.is_number();
  if (kind == ValueKind::kSwitch) {
    if (value.is_boolean()) {
      return value.get<bool>() ? std::optional<std::string>("") : std::nullopt;
    }
    fault = " is neither true nor false; write one of them, without quotes";
  } else if (is_number && kind != ValueKind::kText) {
    return value.dump();
  } else if (value.is_string() && kind != ValueKind::kNumber) {
    return value.get<std::string>();
  } else if (kind == ValueKind::kNumber) {
    fault = value.is_string() ? " is text; write a number, without quotes" : " is not a number";
  } else {
    fault = is_number ? " is a number; write it in quotes" : " is not text";
  }
  fault = absl::StrCat(ShownJson(value), fault);
  return std::nullopt;
}

class ConfigFile {
 public:
  ConfigFile(const std::string& path, absl::string_view subject, const FlagTable& table,
             Mistakes& mistakes)
      : shown_path_(Printable(path)), subject_(subject), table_(table), mistakes_(mistakes) {}

  std::set<std::string> Read(const std::string& text) {
    std::vector<JsonFault> faults;
    const std::optional<json> root = ReadJson(text, kLimits, faults, &lines_);
    for (const JsonFault& fault : faults) {
      mistakes_.Add(Place(fault.line),
                    fault.path.empty() ? fault.what : absl::StrCat(fault.path, ": ", fault.what));
    }
    if (!root.has_value()) return {};
    if (!root->is_object()) {
      mistakes_.Add(shown_path_,
                    absl::StrCat(ShownJson(*root), " is not a JSON object; ", kInstead));
      return {};
    }
    for (const auto& [key, value] : root->items()) Take(key, value);
    return std::move(named_);
  }

 private:
  std::string Place(std::size_t line) const {
    return line == 0 ? shown_path_ : absl::StrCat(shown_path_, ":", line);
  }

  void Report(const std::string& key, absl::string_view what) {
    mistakes_.Add(absl::StrCat(Place(lines_[key]), ": ", Printable(key)), what);
  }

  void Take(const std::string& key, const json& value) {
    // The next one would be read by nobody, and what goes before what would be a riddle.
    if (key == "config") return Report(key, "a file cannot name another; leave it out");
    // Its value is not repeated: it would stand in every log.
    if (key == "token")
      return Report(key, "does not stand in a file that is passed on; write token-file");
    const auto flag = std::ranges::find(table_, key, KeyOf);
    if (flag == table_.end()) return Unknown(key);
    named_.insert(flag->name);
    std::string fault;
    const std::optional<std::string> text = TextOf(value, flag->value.kind, fault);
    if (!fault.empty()) return Report(key, fault);
    if (!text.has_value()) return;
    if (const absl::Status status = flag->value.set(*text); !status.ok())
      Report(key, status.message());
  }

  void Unknown(const std::string& key) {
    std::vector<std::string> keys;
    for (const Flag& flag : table_) keys.push_back(KeyOf(flag));
    const std::string nearest = DidYouMean(key, keys);
    Report(key,
           absl::StrCat("is no option of ", subject_,
                        nearest.empty() ? absl::StrCat("; see ", subject_, " --help") : nearest));
  }

  const std::string shown_path_;
  const absl::string_view subject_;
  const FlagTable& table_;
  Mistakes& mistakes_;
  JsonLines lines_;
  std::set<std::string> named_;
};

}  // namespace

std::set<std::string> ReadConfigFile(const std::string& path, absl::string_view subject,
                                     const FlagTable& table, Mistakes& mistakes) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kLimits.bytes);
  if (text.ok()) return ConfigFile(path, subject, table, mistakes).Read(*text);
  mistakes.Add(kFlag, absl::StrCat(Quoted(path), " cannot be read: ", text.status().message()));
  return {};
}

}  // namespace weir
