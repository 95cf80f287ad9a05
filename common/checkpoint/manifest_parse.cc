#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/strict_json.h"
#include "common/checkpoint/manifest.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr JsonLimits kManifestLimits{.bytes = kMaxManifestBytes, .depth = 32, .values = 32'000'000};

/// One JSON object and where it stands, for messages such as "files[1].bytes: expected ...".
class Fields {
 public:
  static absl::StatusOr<Fields> Of(const json& value, std::string place) {
    if (value.is_object()) return Fields(value, std::move(place));
    return absl::InvalidArgumentError(
        absl::StrCat(place.empty() ? "the manifest" : place, ": expected an object"));
  }

  absl::StatusOr<std::string> Text(const char* key) const {
    const json* value = Find(key);
    if (value == nullptr || !value->is_string()) return Expected(key, "a string");
    return value->get<std::string>();
  }
  absl::StatusOr<std::uint64_t> Number(const char* key, std::uint64_t max) const {
    const json* value = Find(key);
    if (value == nullptr || !value->is_number_unsigned() || value->get<std::uint64_t>() > max) {
      return Expected(key, absl::StrCat("an integer from 0 to ", max));
    }
    return value->get<std::uint64_t>();
  }
  absl::StatusOr<std::int64_t> Count(const char* key) const {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    WEIR_ASSIGN_OR_RETURN(const std::uint64_t number, Number(key, kMax));
    return static_cast<std::int64_t>(number);
  }
  absl::StatusOr<bool> Flag(const char* key) const {
    const json* value = Find(key);
    if (value == nullptr || !value->is_boolean()) return Expected(key, "true or false");
    return value->get<bool>();
  }
  absl::StatusOr<std::uint64_t> Hex(const char* key) const {
    const json* value = Find(key);
    std::uint64_t number = 0;
    if (value == nullptr || !value->is_string() ||
        !ParseHex(value->get_ref<const std::string&>(), number)) {
      return Expected(key, "16 hexadecimal digits, lower case");
    }
    return number;
  }
  absl::StatusOr<const json*> List(const char* key) const {
    const json* value = Find(key);
    if (value == nullptr || !value->is_array()) return Expected(key, "a list");
    return value;
  }
  absl::StatusOr<Fields> Object(const char* key) const {
    const json* value = Find(key);
    if (value == nullptr) return Expected(key, "an object");
    return Of(*value, Place(key));
  }

  bool Has(const char* key) const { return Find(key) != nullptr; }
  std::string Place(absl::string_view key) const {
    return place_.empty() ? std::string(key) : absl::StrCat(place_, ".", key);
  }
  std::string Place(absl::string_view key, std::size_t index) const {
    return absl::StrCat(Place(key), "[", index, "]");
  }

  absl::Status Expected(const char* key, absl::string_view what) const {
    const json* value = Find(key);
    std::string found = value == nullptr ? "nothing" : value->type_name();
    // Only what is short by nature; never a container from the file.
    if (value != nullptr && value->is_number()) found = value->dump();
    if (value != nullptr && value->is_string()) {
      found = absl::StrCat("\"", absl::CHexEscape(value->get<std::string>().substr(0, 80)), "\"");
    }
    return absl::InvalidArgumentError(
        absl::StrCat(Place(key), ": expected ", what, ", found ", found));
  }

 private:
  Fields(const json& value, std::string place) : value_(&value), place_(std::move(place)) {}

  const json* Find(const char* key) const {
    const auto found = value_->find(key);
    return found == value_->end() ? nullptr : &*found;
  }
  static bool ParseHex(const std::string& text, std::uint64_t& number) {
    return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos &&
           absl::SimpleHexAtoi(text, &number);
  }

  const json* value_;
  std::string place_;
};

absl::StatusOr<TensorSpec> ParseTensor(const Fields& fields) {
  TensorSpec tensor;
  WEIR_ASSIGN_OR_RETURN(tensor.name, fields.Text("name"));
  WEIR_ASSIGN_OR_RETURN(const std::string dtype, fields.Text("dtype"));
  if (dtype != "F32") return fields.Expected("dtype", "\"F32\"");
  WEIR_ASSIGN_OR_RETURN(const json* shape, fields.List("shape"));
  for (const json& dimension : *shape) {
    if (!dimension.is_number_unsigned() || dimension.get<std::uint64_t>() > 1ULL << 62) {
      return fields.Expected("shape", "a list of integers from 0 to 2^62");
    }
    tensor.shape.push_back(dimension.get<std::int64_t>());
  }
  return tensor;
}

absl::StatusOr<ManifestEntry> ParseEntry(const Fields& fields) {
  ManifestEntry entry;
  WEIR_ASSIGN_OR_RETURN(entry.tensor, fields.Text("tensor"));
  WEIR_ASSIGN_OR_RETURN(entry.offset, fields.Count("offset"));
  WEIR_ASSIGN_OR_RETURN(entry.elements, fields.Count("elements"));
  WEIR_ASSIGN_OR_RETURN(entry.checksum, fields.Hex("checksum"));
  return entry;
}

absl::Status ParseClocks(const Fields& fields, std::vector<std::uint32_t>& clocks) {
  if (!fields.Has("worker_clocks")) return absl::OkStatus();
  WEIR_ASSIGN_OR_RETURN(const json* list, fields.List("worker_clocks"));
  for (const json& clock : *list) {
    if (!clock.is_number_unsigned() ||
        clock.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
      return fields.Expected("worker_clocks", "a list of integers from 0 to 2^32 - 1");
    }
    clocks.push_back(clock.get<std::uint32_t>());
  }
  return absl::OkStatus();
}

absl::StatusOr<ManifestFile> ParseFile(const Fields& fields) {
  ManifestFile file;
  WEIR_ASSIGN_OR_RETURN(file.file, fields.Text("file"));
  WEIR_ASSIGN_OR_RETURN(const std::int64_t bytes, fields.Count("bytes"));
  file.bytes = static_cast<std::uint64_t>(bytes);
  WEIR_RETURN_IF_ERROR(ParseClocks(fields, file.worker_clocks));
  WEIR_ASSIGN_OR_RETURN(const json* entries, fields.List("entries"));
  file.entries.reserve(entries->size());
  for (std::size_t i = 0; i < entries->size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(const Fields place,
                          Fields::Of((*entries)[i], fields.Place("entries", i)));
    WEIR_ASSIGN_OR_RETURN(file.entries.emplace_back(), ParseEntry(place));
  }
  return file;
}

absl::Status ParseOptimizer(const Fields& root, Manifest& manifest) {
  WEIR_ASSIGN_OR_RETURN(const Fields optimizer, root.Object("optimizer"));
  WEIR_ASSIGN_OR_RETURN(manifest.optimizer, optimizer.Text("name"));
  WEIR_ASSIGN_OR_RETURN(const json* slots, optimizer.List("slots"));
  for (const json& slot : *slots) {
    if (!slot.is_string()) return optimizer.Expected("slots", "a list of strings");
    manifest.optimizer_slots.push_back(slot.get<std::string>());
  }
  return absl::OkStatus();
}

absl::Status ParseHead(const Fields& root, Manifest& manifest) {
  WEIR_ASSIGN_OR_RETURN(manifest.job, root.Text("job"));
  WEIR_ASSIGN_OR_RETURN(const std::uint64_t step,
                        root.Number("step", std::numeric_limits<std::uint64_t>::max()));
  manifest.step = Step(step);
  WEIR_ASSIGN_OR_RETURN(manifest.is_final, root.Flag("final"));
  WEIR_ASSIGN_OR_RETURN(const std::string created, root.Text("created"));
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, created, &manifest.created, &error)) {
    return root.Expected("created", "a time such as 2026-01-31T12:00:00Z");
  }
  if (root.Has("chief_incarnation")) {
    WEIR_ASSIGN_OR_RETURN(const std::uint64_t chief, root.Hex("chief_incarnation"));
    manifest.chief = Incarnation(chief);
  }
  WEIR_ASSIGN_OR_RETURN(const std::uint64_t shards,
                        root.Number("shards", std::numeric_limits<std::uint16_t>::max()));
  manifest.shards = static_cast<int>(shards);
  return ParseOptimizer(root, manifest);
}

absl::Status CheckFormat(const Fields& root) {
  WEIR_ASSIGN_OR_RETURN(const std::string format, root.Text("format"));
  if (format != "weir-checkpoint") return root.Expected("format", "\"weir-checkpoint\"");
  WEIR_ASSIGN_OR_RETURN(const std::int64_t version, root.Count("version"));
  if (version == 0) return root.Expected("version", "1");
  if (version == kManifestVersion) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("version: this build reads weir-checkpoint version ",
                                               kManifestVersion, ", found version ", version,
                                               ": read it with a later weir"));
}

}  // namespace

absl::StatusOr<Manifest> ParseManifest(absl::string_view text) {
  WEIR_ASSIGN_OR_RETURN(const json document, ParseStrictJson(text, kManifestLimits));
  WEIR_ASSIGN_OR_RETURN(const Fields root, Fields::Of(document, ""));
  WEIR_RETURN_IF_ERROR(CheckFormat(root));
  Manifest manifest;
  WEIR_RETURN_IF_ERROR(ParseHead(root, manifest));
  WEIR_ASSIGN_OR_RETURN(const json* tensors, root.List("tensors"));
  for (std::size_t i = 0; i < tensors->size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(const Fields place, Fields::Of((*tensors)[i], root.Place("tensors", i)));
    WEIR_ASSIGN_OR_RETURN(manifest.tensors.emplace_back(), ParseTensor(place));
  }
  WEIR_ASSIGN_OR_RETURN(const json* files, root.List("files"));
  for (std::size_t i = 0; i < files->size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(const Fields place, Fields::Of((*files)[i], root.Place("files", i)));
    WEIR_ASSIGN_OR_RETURN(manifest.files.emplace_back(), ParseFile(place));
  }
  WEIR_RETURN_IF_ERROR(ValidateManifest(manifest));
  return manifest;
}

}  // namespace weir
