#include "jobs/job_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/strict_json.h"
#include "common/config/mistakes.h"
#include "common/config/nearest.h"
#include "common/config/shown_json.h"
#include "common/config/small_file.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using nlohmann::json;

// A hundred thousand tensors with long names.
constexpr JsonLimits kLimits{.bytes = 16 << 20, .depth = 8};
constexpr char kInstead[] = R"(write {"name": ..., "max_steps": N, "tensors": [...]})";
// Beyond 2^53 a reader that keeps numbers as doubles would see another one.
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 53U;

struct JobFile {
  std::string name;
  std::uint64_t max_steps = 0;
  std::vector<TensorSpec> tensors;
};

class TensorsOnly final : public Job {
 public:
  explicit TensorsOnly(JobFile file) : file_(std::move(file)) {}

  std::string name() const override { return file_.name; }
  std::vector<TensorSpec> tensors() const override { return file_.tensors; }
  std::uint64_t default_max_steps() const override { return file_.max_steps; }
  absl::StatusOr<std::unique_ptr<Model>> CreateModel(int) const override { return Missing(); }
  absl::StatusOr<Dataset> TrainingData(const InputContext&) const override { return Missing(); }
  absl::StatusOr<Dataset> TestData(const InputContext&) const override { return Missing(); }

 private:
  absl::Status Missing() const {
    return WithExitCode(absl::FailedPreconditionError(absl::StrCat(
                            "job ", file_.name,
                            " has tensors only: its workers are programs that use weir::Client")),
                        ExitCode::kBadUsage);
  }

  const JobFile file_;
};

class Reader {
 public:
  explicit Reader(absl::string_view source) : source_(source) {}

  absl::StatusOr<JobFile> Read(absl::string_view text) {
    std::vector<JsonFault> faults;
    const std::optional<json> root = ReadJson(text, kLimits, faults);
    for (const JsonFault& fault : faults) {
      mistakes_.Add(fault.path.empty() ? source_ : absl::string_view(fault.path), fault.what);
    }
    if (root.has_value()) ReadRoot(*root);
    WEIR_RETURN_IF_ERROR(mistakes_.ToStatus(source_));
    // Each is well-formed by now; what they are together is for the model's own rules.
    WEIR_RETURN_IF_ERROR(
        WithExitCode(Located(ValidateTensors(file_.tensors)), ExitCode::kBadUsage));
    return std::move(file_);
  }

 private:
  absl::Status Located(const absl::Status& status) const {
    return absl::Status(status.code(), absl::StrCat(source_, ": tensors: ", status.message()));
  }

  void ReadRoot(const json& root) {
    if (!root.is_object()) {
      return mistakes_.Add(source_, absl::StrCat(ShownJson(root), " is not an object; ", kInstead));
    }
    CheckKeys(root, "", std::array<std::string, 3>{"name", "max_steps", "tensors"});
    if (const json* name = Required(root, "", "name")) ReadText("name", *name, file_.name);
    if (const json* steps = Required(root, "", "max_steps")) {
      if (const auto count = Count("max_steps", *steps, 1)) file_.max_steps = *count;
    }
    const json* tensors = Required(root, "", "tensors");
    if (tensors == nullptr) return;
    if (!tensors->is_array() || tensors->empty()) {
      return mistakes_.Add("tensors", absl::StrCat(ShownJson(*tensors),
                                                   " is no list of tensors; write at least one"));
    }
    for (std::size_t i = 0; i < tensors->size(); ++i) {
      ReadTensor(absl::StrCat("tensors[", i, "]"), (*tensors)[i]);
    }
  }

  void ReadTensor(const std::string& place, const json& value) {
    if (!value.is_object()) {
      return mistakes_.Add(
          place, absl::StrCat(ShownJson(value),
                              R"( is not an object; write {"name": ..., "shape": [...]})"));
    }
    CheckKeys(value, absl::StrCat(place, "."),
              std::array<std::string, 3>{"name", "shape", "initializer"});
    TensorSpec& tensor = file_.tensors.emplace_back();
    if (const json* name = Required(value, place, "name")) {
      ReadText(absl::StrCat(place, ".name"), *name, tensor.name);
    }
    if (const json* shape = Required(value, place, "shape")) {
      ReadShape(absl::StrCat(place, ".shape"), *shape, tensor.shape);
    }
    const auto initializer = value.find("initializer");
    if (initializer != value.end()) {
      ReadInitializer(absl::StrCat(place, ".initializer"), *initializer, tensor.initializer);
    }
  }

  void ReadShape(const std::string& place, const json& value, std::vector<std::int64_t>& shape) {
    if (!value.is_array()) {
      return mistakes_.Add(
          place, absl::StrCat(ShownJson(value), " is no list of dimensions; a scalar's is []"));
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (const auto size = Count(absl::StrCat(place, "[", i, "]"), value[i], 0)) {
        shape.push_back(static_cast<std::int64_t>(*size));
      }
    }
  }

  void ReadInitializer(const std::string& place, const json& value, Initializer& initializer) {
    if (value == "zeros") {
      initializer = Initializer::kZeros;
    } else if (value == "glorot_uniform") {
      initializer = Initializer::kGlorotUniform;
    } else {
      mistakes_.Add(place,
                    absl::StrCat(ShownJson(value),
                                 R"( is no initializer; write "zeros" or "glorot_uniform")"));
    }
  }

  void ReadText(const std::string& place, const json& value, std::string& text) {
    if (value.is_string() && !value.get_ref<const std::string&>().empty()) {
      text = value.get<std::string>();
    } else {
      mistakes_.Add(place, absl::StrCat(ShownJson(value), " is no name; write some text"));
    }
  }

  std::optional<std::uint64_t> Count(const std::string& place, const json& value,
                                     std::uint64_t least) {
    if (value.is_number_unsigned()) {
      const auto count = value.get<std::uint64_t>();
      if (count >= least && count <= kMaxCount) return count;
    }
    mistakes_.Add(place, absl::StrCat(ShownJson(value), " is no whole number from ", least, " to ",
                                      kMaxCount));
    return std::nullopt;
  }

  const json* Required(const json& object, const std::string& place, const std::string& key) {
    const auto found = object.find(key);
    if (found != object.end()) return &*found;
    mistakes_.Add(place.empty() ? source_ : absl::string_view(place),
                  absl::StrCat("has no \"", key, "\""));
    return nullptr;
  }

  void CheckKeys(const json& object, const std::string& prefix,
                 std::span<const std::string> known) {
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      mistakes_.Add(absl::StrCat(prefix, Printable(key)),
                    absl::StrCat("is no key of a job file", DidYouMean(key, known)));
    }
  }

  const absl::string_view source_;
  Mistakes mistakes_;
  JobFile file_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Job>> ParseJobFile(absl::string_view text,
                                                  absl::string_view source) {
  WEIR_ASSIGN_OR_RETURN(JobFile file, Reader(source).Read(text));
  return std::make_unique<TensorsOnly>(std::move(file));
}

absl::StatusOr<std::unique_ptr<Job>> ReadJobFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kLimits.bytes);
  if (text.ok()) return ParseJobFile(*text, path);
  return WithExitCode(absl::InvalidArgumentError(absl::StrCat(
                          "--job: ", Quoted(path), " cannot be read: ", text.status().message())),
                      ExitCode::kBadUsage);
}

}  // namespace weir
