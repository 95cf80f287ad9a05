#include "common/config/tf_task.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/config/nearest.h"
#include "common/config/shown_json.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr char kTypes[] = "chief, worker, ps or evaluator";
const std::array<std::string, 5> kTypeNames = {"chief", "worker", "ps", "evaluator", "master"};

const json* Member(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

// A number, or text that is one; none for anything else, fractions too.
std::optional<std::int64_t> WholeNumber(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::trunc(number) != number || std::abs(number) > 1e15) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  std::int64_t number = 0;
  if (value.is_string() && absl::SimpleAtoi(value.get_ref<const std::string&>(), &number))
    return number;
  return std::nullopt;
}

std::optional<int> ReadIndex(const json* value, Mistakes& mistakes) {
  if (value == nullptr) {
    mistakes.Add("task.index", "is missing; write this task's index, from 0");
    return std::nullopt;
  }
  const std::optional<std::int64_t> number = WholeNumber(*value);
  if (!number.has_value() || *number < 0 || *number > std::numeric_limits<int>::max()) {
    mistakes.Add("task.index",
                 absl::StrCat(ShownJson(*value), " is not an index; write a whole number from 0"));
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

std::optional<std::string> ReadType(const json* value, Mistakes& mistakes) {
  if (value == nullptr) {
    mistakes.Add("task.type", absl::StrCat("is missing; write ", kTypes));
    return std::nullopt;
  }
  if (value->is_string()) {
    const auto& type = value->get_ref<const std::string&>();
    if (std::find(kTypeNames.begin(), kTypeNames.end(), type) != kTypeNames.end()) return type;
    mistakes.Add("task.type", absl::StrCat(Quoted(type), " is not a job; write ", kTypes,
                                           DidYouMean(type, kTypeNames)));
    return std::nullopt;
  }
  mistakes.Add("task.type", absl::StrCat(ShownJson(*value), " is not text; write ", kTypes));
  return std::nullopt;
}

bool IsObject(const json& task, Mistakes& mistakes) {
  if (task.is_object()) return true;
  mistakes.Add("task", absl::StrCat(ShownJson(task),
                                    " is not an object; write {\"type\": "
                                    "\"worker\", \"index\": 0}"));
  return false;
}

}  // namespace

std::optional<ListedTask> ReadTfTask(const json* task, Mistakes& mistakes) {
  if (task == nullptr) {
    mistakes.Add("task", "is missing; write {\"type\": \"worker\", \"index\": 0} for worker 0");
    return std::nullopt;
  }
  if (!IsObject(*task, mistakes)) return std::nullopt;
  std::optional<std::string> type = ReadType(Member(*task, "type"), mistakes);
  const std::optional<int> index = ReadIndex(Member(*task, "index"), mistakes);
  if (!type.has_value()) return std::nullopt;
  return ListedTask{*std::move(type), index};
}

void CheckLocalTask(const json* task, Mistakes& mistakes) {
  if (task == nullptr || !IsObject(*task, mistakes)) return;
  const json* type = Member(*task, "type");
  if (type != nullptr && *type != "worker")
    mistakes.Add("task.type", absl::StrCat(ShownJson(*type),
                                           " needs a cluster; add one, or write "
                                           "\"worker\" to run all on this machine"));
  const json* index = Member(*task, "index");
  if (index != nullptr && WholeNumber(*index) != 0)
    mistakes.Add("task.index", absl::StrCat(ShownJson(*index),
                                            " needs a cluster; add one, or "
                                            "write 0 to run all on this machine"));
}

}  // namespace weir
