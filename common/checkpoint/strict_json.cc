#include "common/checkpoint/strict_json.h"

#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

using nlohmann::json;

/// Builds the document from the parser's events. The parser does not recurse, and neither does
/// this, so depth costs no stack.
class Builder : public nlohmann::json_sax<json> {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return Add(nullptr) != nullptr; }
  bool boolean(bool value) override { return Add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return Add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return Add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override {
    return Add(value) != nullptr;
  }
  bool string(string_t& value) override { return Add(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return Fail("binary values are not JSON"); }

  bool start_object(std::size_t) override { return Open(json::object()); }
  bool start_array(std::size_t) override { return Open(json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& key) override {
    if (open_.back()->contains(key)) {
      return Fail(absl::StrCat("key \"", absl::Utf8SafeCHexEscape(key), "\" occurs twice"));
    }
    key_ = std::move(key);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail(absl::StrCat("not valid JSON at byte ", position));
  }

  json TakeResult() { return std::move(root_); }
  const std::string& error() const { return error_; }

 private:
  bool Fail(std::string error) {
    error_ = std::move(error);
    return false;
  }

  /// Puts `value` where the next one belongs; null when a limit is passed. Pointers in open_ stay
  /// valid: a container gets no other element while its last one is open.
  json* Add(json value) {
    if (++values_ > limits_.values) {
      Fail(absl::StrCat("more than ", limits_.values, " values"));
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    return &(parent[key_] = std::move(value));
  }
  bool Open(json container) {
    if (open_.size() >= static_cast<std::size_t>(limits_.depth)) {
      return Fail(absl::StrCat("nested more than ", limits_.depth, " deep"));
    }
    json* added = Add(std::move(container));
    if (added != nullptr) open_.push_back(added);
    return added != nullptr;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  const JsonLimits limits_;
  json root_;
  std::vector<json*> open_;
  std::string key_;
  std::size_t values_ = 0;
  std::string error_;
};

}  // namespace

absl::StatusOr<json> ParseStrictJson(absl::string_view text, const JsonLimits& limits) {
  try {
    Builder builder(limits);
    if (json::sax_parse(text.begin(), text.end(), &builder)) return builder.TakeResult();
    return absl::InvalidArgumentError(builder.error());
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("cannot parse the JSON: ", error.what()));
  }
}

absl::StatusOr<std::string> QuoteJson(const std::string& text) {
  try {
    return json(text).dump();
  } catch (const std::exception&) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", absl::CHexEscape(text), "\" is not UTF-8, as JSON needs"));
  }
}

}  // namespace weir
