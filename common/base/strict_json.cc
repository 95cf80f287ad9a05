#include "common/base/strict_json.h"

#include <cstddef>
#include <exception>
#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxFaults = 1000;
constexpr std::size_t kMaxShownKey = 80;
constexpr std::size_t kMaxShownReason = 200;

std::string Shown(absl::string_view text, std::size_t limit) {
  std::string shown = absl::CEscape(text.substr(0, limit));
  if (text.size() > limit) absl::StrAppend(&shown, "... (", text.size(), " bytes)");
  return shown;
}

/// A text as the parser reads it, byte by byte; counts the lines on the way.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t& line) : at_(at), line_(&line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_++ == '\n') ++*line_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  std::size_t* line_;
};

/// Builds the value from the parser's events, because the library's own builder keeps silent about
/// repeated keys and nests as deep as the text does. The parser does not recurse, and neither does
/// this, so depth costs no stack.
class TreeBuilder : public nlohmann::json_sax<json> {
 public:
  /// `line` is where the parser is; `lines` may be null.
  TreeBuilder(const JsonLimits& limits, std::size_t max_faults, std::vector<JsonFault>& faults,
              const std::size_t& line, JsonLines* lines)
      : limits_(limits),
        faults_(faults),
        most_faults_(faults.size() + max_faults),
        line_(line),
        lines_(lines) {}

  json&& root() { return std::move(root_); }

  bool null() override { return Put(nullptr) != nullptr; }
  bool boolean(bool value) override { return Put(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return Put(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return Put(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override {
    return Put(value) != nullptr;
  }
  bool string(string_t& value) override { return Put(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return Fail("has a binary value, which is not JSON"); }
  bool start_object(std::size_t) override { return Open(json::object()); }
  bool start_array(std::size_t) override { return Open(json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    open_.back().key = std::move(name);
    // The parser has read just the key's last quote by now.
    if (lines_ != nullptr && open_.size() == 1) (*lines_)[open_.back().key] = line_;
    if (!open_.back().value->contains(open_.back().key)) return true;
    faults_.push_back({Path(), "stands twice in its object; keep one", line_});
    return faults_.size() < most_faults_;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    absl::string_view what = error.what();
    if (const std::size_t end = what.find("] "); end != absl::string_view::npos)
      what = what.substr(end + 2);
    return Fail(absl::StrCat("is not JSON: ", Shown(what, kMaxShownReason)));
  }

 private:
  struct Level {
    json* value;
    std::string key;  // of an object: the one being read
  };

  bool Fail(std::string what) {
    faults_.push_back({"", std::move(what), 0});
    return false;
  }

  // Null beyond a limit. Pointers into the tree stay good: an array grows only after its last
  // element is closed.
  json* Put(json value) {
    if (++values_ > limits_.values) {
      Fail(absl::StrCat("has more than ", limits_.values, " values"));
      return nullptr;
    }
    if (open_.empty()) return &(root_ = std::move(value));
    json& parent = *open_.back().value;
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    return &(parent[open_.back().key] = std::move(value));
  }

  bool Open(json container) {
    if (open_.size() >= limits_.depth)
      return Fail(absl::StrCat("is nested deeper than ", limits_.depth, " levels"));
    json* const added = Put(std::move(container));
    if (added != nullptr) open_.push_back({added, ""});
    return added != nullptr;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  std::string Path() const {
    std::string path;
    for (const Level& level : open_) {
      if (level.value->is_array()) {
        absl::StrAppend(&path, "[", level.value->size() - 1, "]");
      } else {
        absl::StrAppend(&path, path.empty() ? "" : ".", Shown(level.key, kMaxShownKey));
      }
    }
    return path;
  }

  const JsonLimits& limits_;
  std::vector<JsonFault>& faults_;
  const std::size_t most_faults_;
  const std::size_t& line_;
  JsonLines* const lines_;
  json root_;
  std::vector<Level> open_;
  std::size_t values_ = 0;
};

std::optional<json> Read(absl::string_view text, const JsonLimits& limits, std::size_t max_faults,
                         std::vector<JsonFault>& faults, JsonLines* lines) {
  if (text.size() > limits.bytes) {
    faults.push_back({"", absl::StrCat("has ", text.size(), " bytes; at most ", limits.bytes)});
    return std::nullopt;
  }
  // The library takes a zero byte for the end and would not look at what follows.
  if (absl::StrContains(text, absl::string_view("\0", 1))) {
    faults.push_back({"", "is not JSON: it has a zero byte", 0});
    return std::nullopt;
  }
  try {
    std::size_t line = 1;
    TreeBuilder builder(limits, max_faults, faults, line, lines);
    const CountingIterator begin(text.data(), line);
    const CountingIterator end(text.data() + text.size(), line);
    if (!json::sax_parse(begin, end, &builder)) return std::nullopt;
    return builder.root();
  } catch (const std::exception& error) {
    faults.push_back({"", absl::StrCat("cannot be parsed: ", error.what()), 0});
    return std::nullopt;
  }
}

}  // namespace

std::optional<json> ReadJson(absl::string_view text, const JsonLimits& limits,
                             std::vector<JsonFault>& faults, JsonLines* lines) {
  return Read(text, limits, kMaxFaults, faults, lines);
}

absl::StatusOr<json> ParseStrictJson(absl::string_view text, const JsonLimits& limits) {
  std::vector<JsonFault> faults;
  std::optional<json> value = Read(text, limits, 1, faults, nullptr);
  if (faults.empty() && value.has_value()) return *std::move(value);
  const JsonFault& fault = faults.front();
  return absl::InvalidArgumentError(
      fault.path.empty() ? fault.what : absl::StrCat("key \"", fault.path, "\" ", fault.what));
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
