#include "common/net/ucx/path.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace weir::net {
namespace {

// "tcp/lo" of "0:tcp/lo.0", "posix" of "2:posix/memory.0"; empty for anything else.
std::string TransportIn(absl::string_view word) {
  const std::size_t colon = word.find(':');
  const std::size_t slash = word.find('/');
  if (colon == absl::string_view::npos || slash == absl::string_view::npos || slash < colon) {
    return {};
  }
  absl::string_view name = word.substr(colon + 1, word.rfind('.') - colon - 1);
  absl::ConsumeSuffix(&name, "/memory");
  return std::string(name);
}

}  // namespace

std::vector<std::string> LanesIn(absl::string_view info) {
  std::vector<std::string> lanes;
  for (const absl::string_view line : absl::StrSplit(info, '\n')) {
    const std::size_t lane = line.find("lane[");
    const std::size_t start = lane == absl::string_view::npos ? lane : line.find("]:", lane);
    if (start == absl::string_view::npos) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line.substr(start + 2), ' ', absl::SkipEmpty());
    std::string transport = words.empty() ? std::string() : TransportIn(words.front());
    if (transport.empty() || std::find(lanes.begin(), lanes.end(), transport) != lanes.end()) {
      continue;
    }
    lanes.push_back(std::move(transport));
  }
  return lanes;
}

std::vector<std::string> LanesOf(ucp_ep_h endpoint) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  if (stream == nullptr) return {};
  ucp_ep_print_info(endpoint, stream);
  std::fclose(stream);
  std::vector<std::string> lanes = LanesIn(absl::string_view(text, size));
  std::free(text);
  return lanes;
}

}  // namespace weir::net
