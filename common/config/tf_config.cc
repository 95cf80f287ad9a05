#include "common/config/tf_config.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/strict_json.h"
#include "common/config/cluster_rules.h"
#include "common/config/mistakes.h"
#include "common/config/model_dir.h"
#include "common/config/nearest.h"
#include "common/config/shown_json.h"
#include "common/config/small_file.h"
#include "common/config/tf_cluster.h"
#include "common/config/tf_task.h"

namespace weir {
namespace {

using nlohmann::json;

// A configuration is written by people; anything larger or deeper is something else.
constexpr JsonLimits kTfConfigLimits{.bytes = 1 << 20, .depth = 32};

const json* Find(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::optional<json> ReadRoot(absl::string_view text, absl::string_view source, Mistakes& mistakes) {
  constexpr char kInstead[] = "write {\"cluster\": {...}, \"task\": {...}}, or unset it";
  if (absl::StripAsciiWhitespace(text).empty()) {
    mistakes.Add(source, absl::StrCat("is empty; ", kInstead));
    return std::nullopt;
  }
  std::vector<JsonFault> faults;
  std::optional<json> root = ReadJson(text, kTfConfigLimits, faults);
  for (const JsonFault& fault : faults) {
    mistakes.Add(fault.path.empty() ? source : absl::string_view(fault.path), fault.what);
  }
  if (!root.has_value() || root->is_object()) return root;
  mistakes.Add(source, absl::StrCat(ShownJson(*root), " is not a JSON object; ", kInstead));
  return std::nullopt;
}

// Keys beside the `known` ones: noted, as TensorFlow ignores them; but "Cluster" for "cluster"
// would run something else than was asked for, in silence.
void NoteOtherKeys(const json& object, const std::string& prefix,
                   std::initializer_list<std::string> known, std::vector<std::string>& notes,
                   Mistakes& mistakes) {
  const std::vector<std::string> names(known);
  for (const auto& [key, value] : object.items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    const std::optional<std::string> meant = NearestWithin(key, names, 1);
    if (meant.has_value() && !object.contains(*meant)) {
      mistakes.Add(absl::StrCat(prefix, Printable(key)),
                   absl::StrCat("is no key of TF_CONFIG; write ", *meant));
    } else {
      notes.push_back(absl::StrCat(prefix, Printable(key)));
    }
  }
}

std::optional<std::string> ReadModelDir(const json& root, Mistakes& mistakes) {
  const json* value = Find(root, "model_dir");
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (!value->is_string()) {
    mistakes.Add("model_dir", absl::StrCat(ShownJson(*value), " is not text; write a directory"));
    return std::nullopt;
  }
  const auto& path = value->get_ref<const std::string&>();
  if (const absl::Status fault = CheckModelDir(path); !fault.ok()) {
    mistakes.Add("model_dir", std::string(fault.message()));
    return std::nullopt;
  }
  return path;
}

std::optional<ClusterSpec> ReadCluster(const json& root, Mistakes& mistakes) {
  const json* cluster = Find(root, "cluster");
  const json* task = Find(root, "task");
  // An empty ClusterSpec is false in Python, so TensorFlow runs locally with it.
  if (cluster == nullptr || (cluster->is_object() && cluster->empty())) {
    CheckLocalTask(task, mistakes);
    return std::nullopt;
  }
  const std::optional<ListedTask> self = ReadTfTask(task, mistakes);
  if (!cluster->is_object()) {
    mistakes.Add("cluster", absl::StrCat(ShownJson(*cluster),
                                         " is not an object; write {\"chief\":"
                                         " [\"host:port\"], \"ps\": [...], \"worker\": [...]}"));
    return std::nullopt;
  }
  return ApplyClusterRules(ReadTfCluster(*cluster, mistakes), self, mistakes);
}

}  // namespace

absl::StatusOr<TfConfig> ParseTfConfig(absl::string_view text, absl::string_view source) {
  Mistakes mistakes;
  TfConfig config;
  if (const std::optional<json> root = ReadRoot(text, source, mistakes)) {
    std::vector<std::string> notes;
    NoteOtherKeys(*root, "", {"cluster", "task", "model_dir"}, notes, mistakes);
    if (const json* task = Find(*root, "task"); task != nullptr && task->is_object())
      NoteOtherKeys(*task, "task.", {"type", "index"}, notes, mistakes);
    config.cluster = ReadCluster(*root, mistakes);
    config.model_dir = ReadModelDir(*root, mistakes);
    if (!notes.empty())
      config.notes = absl::StrCat(source, ": ignored keys: ", absl::StrJoin(notes, ", "));
  }
  if (!mistakes.empty()) return mistakes.ToStatus(source);
  return config;
}

absl::StatusOr<TfConfig> LoadTfConfig(const std::string& file, const Environment& environment) {
  if (file.empty()) {
    const std::optional<std::string> text = environment("TF_CONFIG");
    return text.has_value() ? ParseTfConfig(*text, "TF_CONFIG") : TfConfig{};
  }
  const absl::StatusOr<std::string> text = ReadSmallFile(file, kTfConfigLimits.bytes);
  if (text.ok()) return ParseTfConfig(*text, file);
  Mistakes mistakes;
  mistakes.Add(
      "--tf-config",
      absl::StrCat(Quoted(file), " cannot be read: ", std::string(text.status().message())));
  return mistakes.ToStatus("weir run");
}

}  // namespace weir
