#include "common/checkpoint/tool/report.h"

namespace weir {

std::string JsonReport(const nlohmann::json& value) {
  return value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace weir
