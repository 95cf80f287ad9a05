#include "common/net/ucx/port_range.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/unique_fd.h"
#include "weir/exit_code.h"

namespace weir::net {
namespace {

std::optional<std::pair<int, int>> Parse(const std::string& range) {
  const std::vector<std::string> ends = absl::StrSplit(range, '-');
  int first = 0;
  int last = 0;
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &first) || !absl::SimpleAtoi(ends[1], &last) ||
      first < 1 || last < first || last > 65535) {
    return std::nullopt;
  }
  return std::pair(first, last);
}

bool IsFree(int port, bool loopback_only) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(loopback_only ? INADDR_LOOPBACK : INADDR_ANY);
  return bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

}  // namespace

absl::Status CheckPortRange(const std::string& range, bool loopback_only) {
  const auto ports = Parse(range);
  if (!ports.has_value()) {
    return WithExitCode(
        absl::InvalidArgumentError(absl::StrCat("the UCX port range is \"", range,
                                                "\": write FIRST-LAST, such as 40000-40100, from "
                                                "1 to 65535")),
        ExitCode::kBadUsage);
  }
  for (int port = ports->first; port <= ports->second; ++port) {
    if (IsFree(port, loopback_only)) return absl::OkStatus();
  }
  return WithExitCode(absl::ResourceExhaustedError(
                          absl::StrCat("every port of the UCX port range ", range,
                                       " is in use or not allowed: choose another or a wider one")),
                      ExitCode::kBadUsage);
}

}  // namespace weir::net
