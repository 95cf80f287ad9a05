#include "common/config/strict_json.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxShown = 80;

// Builds the value from the parser's events, because the library's own builder keeps silent about
// repeated keys and nests as deep as the text does.
class TreeBuilder : public nlohmann::json_sax<json> {
 public:
  TreeBuilder(absl::string_view source, Mistakes& mistakes)
      : source_(source), mistakes_(mistakes) {}

  json&& root() { return std::move(root_); }

  bool null() override { return Put(nullptr) != nullptr; }
  bool boolean(bool value) override { return Put(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return Put(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return Put(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override {
    return Put(value) != nullptr;
  }
  bool string(string_t& value) override { return Put(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(json::object()); }
  bool start_array(std::size_t) override { return Open(json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    open_.back().key = name;
    if (open_.back().value->contains(name))
      mistakes_.Add(Path(), "stands twice in its object; keep one");
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    absl::string_view what = error.what();
    if (const std::size_t end = what.find("] "); end != absl::string_view::npos)
      what = what.substr(end + 2);
    mistakes_.Add(source_, absl::StrCat("is not JSON: ", Printable(what, 200)));
    return false;
  }

 private:
  struct Level {
    json* value;
    std::string key;  // of an object: the one being read
  };

  // Pointers into the tree stay good: an array grows only after its last element is closed.
  json* Put(json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    json& parent = *open_.back().value;
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    json& slot = parent[open_.back().key];
    slot = std::move(value);
    return &slot;
  }

  bool Open(json container) {
    if (open_.size() == kMaxJsonDepth) {
      mistakes_.Add(source_, absl::StrCat("is nested deeper than ", kMaxJsonDepth, " levels"));
      return false;
    }
    open_.push_back({Put(std::move(container)), ""});
    return true;
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
        absl::StrAppend(&path, path.empty() ? "" : ".", Printable(level.key));
      }
    }
    return path;
  }

  absl::string_view source_;
  Mistakes& mistakes_;
  json root_;
  std::vector<Level> open_;
};

}  // namespace

std::optional<json> ParseStrictJson(absl::string_view text, absl::string_view source,
                                    Mistakes& mistakes) {
  if (text.size() > kMaxJsonBytes) {
    mistakes.Add(source, absl::StrCat("has ", text.size(), " bytes; at most ", kMaxJsonBytes));
    return std::nullopt;
  }
  // The library takes a zero byte for the end and would not look at what follows.
  if (absl::StrContains(text, absl::string_view("\0", 1))) {
    mistakes.Add(source, "is not JSON: it has a zero byte");
    return std::nullopt;
  }
  TreeBuilder builder(source, mistakes);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return builder.root();
}

std::string ShownJson(const json& value) {
  if (value.is_string()) return Quoted(value.get_ref<const std::string&>());
  // Bad UTF-8 cannot be here, but the library would throw for it. What it writes is ASCII.
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kMaxShown) text = absl::StrCat(text.substr(0, kMaxShown), "...");
  return text;
}

}  // namespace weir
