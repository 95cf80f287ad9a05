#include "common/config/shown_json.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/config/mistakes.h"

namespace weir {

std::string ShownJson(const nlohmann::json& value) {
  using nlohmann::json;
  constexpr std::size_t kMaxShown = 80;
  if (value.is_string()) return Quoted(value.get_ref<const std::string&>());
  // Bad UTF-8 cannot be here, but the library would throw for it. What it writes is ASCII.
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kMaxShown) text = absl::StrCat(text.substr(0, kMaxShown), "...");
  return text;
}

}  // namespace weir
