#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace weir {

/// A value for an error message: as JSON, cut short.
std::string ShownJson(const nlohmann::json& value);

}  // namespace weir
