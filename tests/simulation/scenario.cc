#include "tests/simulation/scenario.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/simulation/random.h"

namespace weir::sim {
namespace {

Death MakeDeath(Random& random, int workers) {
  Death death;
  death.worker = WorkerIndex(static_cast<std::uint16_t>(random.Int(0, workers - 1)));
  death.at = random.Upto(absl::Milliseconds(300));
  death.noticed_after = random.Upto(absl::Milliseconds(100));
  death.zombie = random.Chance(0.4);
  // The first worker always comes back: somebody has to do the steps.
  if (death.worker == WorkerIndex(0) || random.Chance(0.5)) {
    death.restarts_after = random.Upto(absl::Milliseconds(100));
  }
  return death;
}

void AddFaults(Random& random, Scenario& s) {
  if (random.Chance(0.7)) s.drop = random.Unit() * 0.3;
  if (random.Chance(0.7)) s.duplicate = random.Unit() * 0.4;
  if (random.Chance(0.7)) s.slow = random.Unit() * 0.3;
  s.delay = absl::Microseconds(random.Int(10, 3000));
  s.slow_delay = absl::Milliseconds(random.Int(10, 300));
  if (random.Chance(0.6)) {
    for (int i = random.Int(1, 3); i > 0; --i) s.deaths.push_back(MakeDeath(random, s.workers));
  }
  if (random.Chance(0.25)) s.stop_at = random.Upto(absl::Milliseconds(400));
  if (random.Chance(0.5)) s.snapshot_every = absl::Milliseconds(random.Int(1, 60));
}

}  // namespace

std::optional<Plant> PlantNamed(const std::string& name) {
  static const std::array<std::pair<const char*, Plant>, 8> names = {{
      {"reapply-repeats", Plant::kReapplyRepeats},
      {"acknowledge-lost", Plant::kAcknowledgeLost},
      {"push-read-late", Plant::kPushReadLate},
      {"block-read-late", Plant::kBlockReadLate},
      {"ignore-views", Plant::kIgnoreViews},
      {"no-ticks", Plant::kNoTicks},
      {"acknowledge-early", Plant::kAcknowledgeEarly},
      {"gradient-early", Plant::kGradientEarly},
  }};
  for (const auto& [known, plant] : names) {
    if (name == known) return plant;
  }
  return std::nullopt;
}

Scenario MakeScenario(std::uint64_t seed, Plant plant) {
  Random random(seed);
  Scenario s;
  s.seed = seed;
  s.plant = plant;
  s.shards = random.Int(1, 4);
  s.workers = random.Int(1, 4);
  for (int i = random.Int(1, 7); i > 0; --i) s.tensors.push_back(random.Int(1, 24));
  s.learning_rate = 1.0F / static_cast<float>(1 << random.Int(0, 4));
  const int start = random.Chance(0.3) ? random.Int(1, 1000) : 0;
  s.start_step = Step(static_cast<std::uint64_t>(start));
  s.max_steps = Step(static_cast<std::uint64_t>(start + random.Int(1, 40)));
  s.push_credits = random.Int(1, 4);
  s.pull_credits = random.Int(1, 4);
  s.spares = random.Int(0, 3);
  s.overlap = random.Chance(0.5) ? random.Unit() * 0.5 : 0;
  s.release_early = random.Chance(0.3) ? 0.1 : 0;
  s.wait_for_view = random.Chance(0.5);
  AddFaults(random, s);
  if (random.Chance(0.6)) s.by_tensor = random.Chance(0.5) ? 1 : random.Unit();
  s.compute = random.Upto(random.Chance(0.5) ? s.delay : 10 * s.delay);
  return s;
}

std::string Scenario::Describe() const {
  std::string text =
      absl::StrCat(shards, " ps, ", workers, " workers, tensors of ", absl::StrJoin(tensors, "+"),
                   " elements, steps ", start_step.value(), " to ", max_steps.value(), ", credits ",
                   push_credits, "/", pull_credits, ", spares ", spares, ", drop ", drop,
                   ", duplicate ", duplicate, ", delay ", absl::FormatDuration(delay), ", slow ",
                   slow, " x ", absl::FormatDuration(slow_delay), ", by tensor ", by_tensor,
                   ", compute ", absl::FormatDuration(compute));
  for (const Death& death : deaths) {
    absl::StrAppend(&text, ", worker ", death.worker.value(), death.zombie ? " a zombie" : " dies",
                    " at ", absl::FormatDuration(death.at),
                    death.restarts_after ? " and restarts" : "");
  }
  if (stop_at) absl::StrAppend(&text, ", stop at ", absl::FormatDuration(*stop_at));
  if (snapshot_every) {
    absl::StrAppend(&text, ", a snapshot every ", absl::FormatDuration(*snapshot_every));
  }
  return text;
}

}  // namespace weir::sim
