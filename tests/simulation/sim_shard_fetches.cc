// Gradients that a shard reads from afar, out of the memory of workers that do what they like
// meanwhile. A device does it: a process that is frozen, or dead, stops none of its reads or
// writes.
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "tests/simulation/sim_cluster.h"
#include "tests/simulation/sim_shard.h"

namespace weir::sim {
namespace {

// How long a device tries to reach a host that is gone, or behind a link that is down. That a
// process is gone, it may hear at once.
constexpr absl::Duration kDeviceRetries = absl::Seconds(8);

}  // namespace

struct SimShard::Fetching {
  std::size_t place = 0;
  std::uint64_t session = 0;
  ProcessId owner = kNoProcess;
  std::shared_ptr<std::vector<float>> source;
  bool failed = false;
};

void SimShard::OnPushToFetch(const wire::PushBlock& header,
                             const std::shared_ptr<std::vector<float>>& gradient) {
  if (!Knows(header.session())) return;
  const WorkerIndex worker = cluster_.LifeOf(header.session()).worker;
  if (!shard_.WantsGradient(worker, header)) return;
  exported_[{header.session(), header.block()}] = gradient;
  if (!fetches_.Add({.worker = worker, .push = header, .from = {}})) {
    cluster_.Count("fetch beyond credits");
    return shard_.AnswerBusy(worker, header);
  }
  if (fetches_.under_way() == kLandingPlaces) cluster_.Count("fetch waits");
  StartFetches();
}

void SimShard::StartFetches() {
  while (const auto place = fetches_.Start()) StartFetch(*place);
}

// In two halves, with anything between them.
void SimShard::StartFetch(std::size_t place) {
  const wire::PushBlock& push = fetches_.at(place).push;
  const auto fetching = std::make_shared<Fetching>();
  fetching->place = place;
  fetching->session = push.session();
  fetching->owner = cluster_.ProcessOf(cluster_.LifeOf(push.session()));
  fetching->source = exported_.at({push.session(), push.block()});
  under_way_[place] = fetching;
  const auto read = [cluster = &cluster_, fetching, landing = landing_](double from, double to) {
    fetching->failed |=
        fetching->owner == kNoProcess || !cluster->processes().alive(fetching->owner);
    if (fetching->failed) return;
    if (cluster->processes().frozen(fetching->owner)) cluster->Count("fetch from a frozen worker");
    const std::vector<float>& source = *fetching->source;
    std::vector<float>& into = (*landing)[fetching->place];
    if (into.size() < source.size()) into.resize(source.size());
    const auto size = static_cast<double>(source.size());
    const auto begin = static_cast<std::ptrdiff_t>(from * size);
    std::copy(source.begin() + begin, source.begin() + static_cast<std::ptrdiff_t>(to * size),
              into.begin() + begin);
  };
  Processes& processes = cluster_.processes();
  Random& random = cluster_.random();
  const bool stalls = random.Chance(cluster_.scenario().fetch_stalls);
  const absl::Duration first = cluster_.network().Delay();
  const absl::Duration second =
      first + random.Upto(stalls ? kDeviceRetries : cluster_.scenario().fetch);
  // Its worker's death alone would have it fail too seldom.
  if (cluster_.scenario().plant == Plant::kFetchFailed) fetching->failed = random.Chance(0.05);
  processes.After(kNoProcess, first, [read] { read(0, 0.5); });
  processes.After(kNoProcess, second, [read] { read(0.5, 1); });
  const bool early = cluster_.scenario().plant == Plant::kHalfFetched;
  const absl::Duration told = early ? first : second + cluster_.network().Delay();
  processes.After(process_, told, [this, fetching] {
    if (!fetching->failed) return FetchEnded(*fetching);
    const absl::Duration gives_up = cluster_.random().Upto(
        cluster_.random().Chance(0.5) ? kDeviceRetries : cluster_.scenario().fetch);
    // Until it says so the place is the device's, and nothing is said of what is in it.
    cluster_.processes().After(kNoProcess, gives_up, [fetching, landing = landing_] {
      (*landing)[fetching->place].assign(fetching->source->size(),
                                         std::numeric_limits<float>::quiet_NaN());
    });
    cluster_.processes().After(process_, gives_up + cluster_.network().Delay(),
                               [this, fetching] { FetchEnded(*fetching); });
  });
}

void SimShard::FetchEnded(const Fetching& fetching) {
  if (under_way_[fetching.place].get() != &fetching) return;  // only for kLandingReused
  under_way_[fetching.place].reset();
  const auto fetch = fetches_.End(fetching.place);
  if (!fetch.has_value()) {
    cluster_.Count("fetch for nobody");
  } else if (const auto* connection = connections_.OfSession(fetch->push.session())) {
    if (!fetching.failed || cluster_.scenario().plant == Plant::kFetchFailed) {
      cluster_.Count("gradient fetched");
      (*landing_)[fetching.place].resize(fetching.source->size());
      shard_.OnPush(fetch->worker, fetch->push,
                    std::as_bytes(std::span((*landing_)[fetching.place])));
      CheckSpares();
    } else {
      cluster_.Count("gradient not fetched");
      const ps::Connection lost = *connection;
      Close(lost);
      connections_.Remove(lost.session);
    }
  }
  StartFetches();
}

// A plant: the places of a session that is over are free although the device may write to them yet.
void SimShard::GiveBackPlacesOf(std::uint64_t session) {
  for (const auto& fetching : under_way_) {
    if (fetching == nullptr || fetching->session != session) continue;
    fetches_.End(fetching->place);
    under_way_[fetching->place].reset();
  }
}

}  // namespace weir::sim
