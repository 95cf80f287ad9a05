#include "common/config/tf_cluster.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/config/nearest.h"
#include "common/config/shown_json.h"

namespace weir {
namespace {

using nlohmann::json;

const std::array<std::string, 5> kJobNames = {"chief", "worker", "ps", "evaluator", "master"};

bool IsJobName(const std::string& name) {
  return std::find(kJobNames.begin(), kJobNames.end(), name) != kJobNames.end();
}

void ReadTask(const std::string& key, int index, const json& value, ListedJob& job,
              Mistakes& mistakes) {
  std::optional<HostPort>& task = job.tasks[index];
  if (!value.is_string()) {
    mistakes.Add(key, absl::StrCat(ShownJson(value), " is not an address; write \"host:port\""));
    return;
  }
  absl::StatusOr<HostPort> address = ParseAddress(value.get_ref<const std::string&>());
  if (address.ok()) {
    task = *std::move(address);
  } else {
    mistakes.Add(key, std::string(address.status().message()));
  }
}

void ReadList(const std::string& path, const json& list, ListedJob& job, Mistakes& mistakes) {
  if (list.size() > static_cast<std::size_t>(kMaxTaskIndex) + 1) {
    mistakes.Add(path, absl::StrCat("has ", list.size(), " tasks; at most ", kMaxTaskIndex + 1));
    job.unreadable = true;
    return;
  }
  int index = 0;
  for (const json& value : list) {
    ReadTask(absl::StrCat(path, "[", index, "]"), index, value, job, mistakes);
    ++index;
  }
}

void ReadIndexed(const std::string& path, const json& object, ListedJob& job, Mistakes& mistakes) {
  for (const auto& [name, value] : object.items()) {
    const std::string key = absl::StrCat(path, "[", Printable(name), "]");
    int index = 0;
    if (!absl::SimpleAtoi(name, &index) || index < 0 || index > kMaxTaskIndex) {
      mistakes.Add(
          key, absl::StrCat(Quoted(name), " is not an index; write a number 0-", kMaxTaskIndex));
      job.unreadable = true;
    } else if (job.tasks.contains(index)) {
      mistakes.Add(key, absl::StrCat("index ", index, " stands twice; keep one"));
    } else {
      ReadTask(key, index, value, job, mistakes);
    }
  }
}

ListedJob ReadJob(const std::string& path, const json& value, Mistakes& mistakes) {
  ListedJob job;
  if (value.is_array()) {
    ReadList(path, value, job, mistakes);
  } else if (value.is_object()) {
    ReadIndexed(path, value, job, mistakes);
  } else {
    const std::string example = value.is_string() ? ShownJson(value) : "\"host:port\"";
    mistakes.Add(path, absl::StrCat(ShownJson(value), " is neither a list nor an object; write [",
                                    example, "] or {\"0\": ", example, "}"));
    job.unreadable = true;
  }
  return job;
}

}  // namespace

ListedCluster ReadTfCluster(const json& cluster, Mistakes& mistakes) {
  ListedCluster listed;
  for (const auto& [name, value] : cluster.items()) {
    if (IsJobName(name)) {
      listed[name] = ReadJob(absl::StrCat("cluster.", name), value, mistakes);
      continue;
    }
    mistakes.Add(absl::StrCat("cluster.", Printable(name)),
                 absl::StrCat("is not a job; write chief, worker, ps or evaluator (or master, the "
                              "old word for chief)",
                              DidYouMean(name, kJobNames)));
  }
  return listed;
}

}  // namespace weir
