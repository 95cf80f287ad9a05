#include "common/model/tensor_name.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/strict_json.h"

namespace weir {

std::string QuotedName(absl::string_view name) {
  const bool utf8 = QuoteJson(std::string(name)).ok();
  return absl::StrCat("'", utf8 ? absl::Utf8SafeCHexEscape(name) : absl::CHexEscape(name), "'");
}

}  // namespace weir
