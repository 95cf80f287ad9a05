#include "common/config/nearest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

// No name of ours is longer, and the distance below is quadratic.
constexpr std::size_t kMaxWord = 64;
// "--" and two letters say nothing about what was meant.
constexpr std::size_t kMinPrefix = 4;

std::string Folded(absl::string_view word) {
  std::string folded = absl::AsciiStrToLower(word);
  std::replace(folded.begin(), folded.end(), '_', '-');
  return folded;
}

// Optimal string alignment distance: Levenshtein's, and a swap of neighbours counts as one.
std::size_t Distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

std::optional<std::string> OnlyOneBeginningWith(const std::string& prefix,
                                                std::span<const std::string> candidates) {
  if (prefix.size() < kMinPrefix) return std::nullopt;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    if (!absl::StartsWith(Folded(candidate), prefix)) continue;
    if (found.has_value()) return std::nullopt;
    found = candidate;
  }
  return found;
}

}  // namespace

std::optional<std::string> NearestWithin(absl::string_view word,
                                         std::span<const std::string> candidates,
                                         std::size_t limit) {
  if (word.empty() || word.size() > kMaxWord) return std::nullopt;
  const std::string folded = Folded(word);
  std::optional<std::string> nearest;
  std::size_t bound = limit + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = Distance(folded, Folded(candidate));
    if (distance >= bound) continue;
    bound = distance;
    nearest = candidate;
  }
  return nearest;
}

std::optional<std::string> Nearest(absl::string_view word,
                                   std::span<const std::string> candidates) {
  std::optional<std::string> nearest =
      NearestWithin(word, candidates, std::max<std::size_t>(1, word.size() / 3));
  return nearest.has_value() ? nearest : OnlyOneBeginningWith(Folded(word), candidates);
}

std::string DidYouMean(absl::string_view word, std::span<const std::string> candidates) {
  const std::optional<std::string> nearest = Nearest(word, candidates);
  return nearest.has_value() ? absl::StrCat("; did you mean ", *nearest, "?") : "";
}

}  // namespace weir
