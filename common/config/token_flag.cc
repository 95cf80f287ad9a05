#include "common/config/token_flag.h"

#include <optional>
#include <utility>

#include "common/config/token.h"

namespace weir {

FlagValue TokenFileValue(std::string& token) {
  return {[&token](absl::string_view path) -> absl::Status {
            if (path.empty()) return absl::InvalidArgumentError("is empty; write a file's name");
            absl::StatusOr<std::string> read = ReadTokenFile(std::string(path));
            if (!read.ok()) return read.status();
            token = *std::move(read);
            return absl::OkStatus();
          },
          []() -> std::optional<std::string> { return std::nullopt; }};
}

}  // namespace weir
