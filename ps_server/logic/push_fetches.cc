#include "ps_server/logic/push_fetches.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weir::ps {
namespace {

bool SamePush(const wire::PushBlock& a, const wire::PushBlock& b) {
  return a.session() == b.session() && a.block() == b.block() && a.sequence() == b.sequence();
}

}  // namespace

std::size_t PushFetches::PlacesFor(int workers) {
  return std::min(kMostPlaces, kPlacesOfOne * static_cast<std::size_t>(workers));
}

PushFetches::PushFetches(std::size_t places, int push_credits)
    : places_(places), push_credits_(static_cast<std::size_t>(push_credits)) {}

bool PushFetches::Add(const Fetch& fetch) {
  std::size_t here = 0;
  const auto is_repetition = [&](Fetch& known) {
    if (known.push.session() != fetch.push.session()) return false;
    ++here;
    if (!SamePush(known.push, fetch.push)) return false;
    if (known.push.view() < fetch.push.view()) known.push = fetch.push;
    return true;
  };
  for (Place& place : places_) {
    if (place.fetch.has_value() && is_repetition(*place.fetch)) return true;
  }
  if (std::ranges::any_of(waiting_, is_repetition)) return true;
  if (here == push_credits_) return false;
  waiting_.push_back(fetch);
  return true;
}

std::size_t PushFetches::PlacesOf(std::uint64_t session) const {
  return static_cast<std::size_t>(std::ranges::count(places_, session, &Place::session));
}

std::optional<std::size_t> PushFetches::Start() {
  if (waiting_.empty()) return std::nullopt;
  const auto free = std::ranges::find(places_, 0U, &Place::session);
  if (free == places_.end()) return std::nullopt;
  const auto next = std::ranges::find_if(waiting_, [this](const Fetch& fetch) {
    return PlacesOf(fetch.push.session()) < kPlacesOfOne;
  });
  if (next == waiting_.end()) return std::nullopt;
  *free = {.session = next->push.session(), .fetch = *next};
  waiting_.erase(next);
  ++under_way_;
  return static_cast<std::size_t>(free - places_.begin());
}

std::optional<PushFetches::Fetch> PushFetches::End(std::size_t place) {
  assert(places_[place].session != 0);
  --under_way_;
  return std::exchange(places_[place], {}).fetch;
}

void PushFetches::Forget(std::uint64_t session) {
  for (Place& place : places_) {
    if (place.session == session) place.fetch.reset();
  }
  std::erase_if(waiting_, [&](const Fetch& fetch) { return fetch.push.session() == session; });
}

}  // namespace weir::ps
