// Runs seeds of the simulation; a seed that breaks a rule is printed with the command that replays
// it. Exit codes: 0 all is well, 1 a rule was broken (with --plant: none was), 2 bad arguments.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "chief/logic/chief.h"
#include "tests/simulation/scenario.h"
#include "tests/simulation/sim_world.h"

namespace weir::sim {
namespace {

constexpr const char* kUsage =
    "usage: simulation [--seeds N] [--first SEED] | --seed SEED   [--plant NAME]\n"
    "  --seeds N     runs N seeds (1000), from --first (1) on\n"
    "  --seed SEED   runs one and prints what happens\n"
    "  --plant NAME  breaks the harness; ends with success when that is noticed. One of:\n"
    "                ";

struct Arguments {
  std::uint64_t seeds = 1000;
  std::uint64_t first = 1;
  bool trace = false;
  std::string plant_name;
  Plant plant = Plant::kNone;
};

std::optional<Arguments> Parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size()) return std::nullopt;
    const std::string& value = words[i + 1];
    bool good = false;
    if (words[i] == "--seeds") {
      good = absl::SimpleAtoi(value, &arguments.seeds);
    } else if (words[i] == "--first") {
      good = absl::SimpleAtoi(value, &arguments.first);
    } else if (words[i] == "--seed") {
      good = absl::SimpleAtoi(value, &arguments.first);
      arguments.seeds = 1;
      arguments.trace = true;
    } else if (words[i] == "--plant") {
      const auto plant = PlantNamed(value);
      good = plant.has_value();
      arguments.plant = plant.value_or(Plant::kNone);
      arguments.plant_name = value;
    }
    if (!good) return std::nullopt;
  }
  return arguments;
}

struct Totals {
  std::uint64_t events = 0;
  std::uint64_t most_events = 0;  // of one seed
  std::map<std::string, std::uint64_t> occurrences;
};

// A simulation in which these never come about proves little, whatever the checker says.
constexpr std::array<const char*, 61> kMustOccur = {
    // the data path
    "push Ok", "push duplicate", "push Busy", "push StaleView", "push Fenced", "pull Busy",
    "pull StaleView", "pull Fenced", "ticket Granted", "ticket Finished", "ticket Released",
    "ticket StaleView", "ticket Fenced", "snapshot", "connect accepted", "connect retry",
    "worker fenced", "worker's connection broke", "step by tensor", "early gradient",
    "pulled again", "interrupt", "mapped read", "mapped read declined",
    "mapped read of a frozen ps", "mapped read of a dead ps", "push from memory",
    "gradient fetched", "gradient not fetched", "fetch for nobody", "fetch waits",
    "fetch beyond credits", "fetch from a frozen worker",
    // the job
    "join Accepted", "join NotYet", "join Ended", "join's answer lost", "lease expired",
    "session closed", "member missed its chief", "chief held up", "second chief refused",
    "nothing to do", "restarted alone", "job restarted", "run resumed", "checkpoint committed",
    "checkpoint pruned", "checkpoint marked final", "shard file not written",
    "manifest not written", "worker evaluates", "evaluator evaluates", "evaluation failed",
    "evaluation hangs", "evaluation of a pruned checkpoint", "chief exits 0", "chief exits 1",
    "chief exits 4", "worker exits 1", "ps exits 1"};

// And every kind of death of every role in every phase.
std::vector<std::string> EveryDeath() {
  std::vector<std::string> deaths;
  for (const char* how : {"kill", "freeze"}) {
    for (const char* role : {"chief", "ps", "worker", "evaluator"}) {
      for (int p = 0; p < static_cast<int>(chief::Phase::kDone); ++p) {
        deaths.push_back(
            absl::StrCat(how, " ", role, " while ", PhaseText(static_cast<chief::Phase>(p))));
      }
    }
  }
  return deaths;
}

// Returns whether every rule held.
bool RunSeed(std::uint64_t seed, const Arguments& arguments, Totals* totals) {
  const Scenario scenario = MakeScenario(seed, arguments.plant);
  if (arguments.trace) std::cout << "seed " << seed << ": " << scenario.Describe() << "\n";
  SimWorld world(scenario, arguments.trace);
  const std::vector<Violation> violations = world.Run();
  totals->events += world.events();
  totals->most_events = std::max(totals->most_events, world.events());
  for (const auto& [what, count] : world.occurrences()) totals->occurrences[what] += count;
  for (const Violation& violation : violations) {
    std::cout << "seed " << seed << " breaks '" << RuleName(violation.rule)
              << "': " << violation.what << "\n";
  }
  return violations.empty();
}

// Returns whether enough came about in a long run.
bool Report(const Totals& totals, const Arguments& arguments) {
  std::cout << totals.events << " events, at most " << totals.most_events << " in a seed";
  for (const auto& [what, count] : totals.occurrences) std::cout << ", " << what << " " << count;
  std::cout << "\n";
  if (arguments.seeds < 1000 || arguments.plant != Plant::kNone) return true;
  bool all = true;
  std::vector<std::string> must = EveryDeath();
  must.insert(must.end(), kMustOccur.begin(), kMustOccur.end());
  for (const std::string& what : must) {
    if (totals.occurrences.contains(what)) continue;
    std::cout << "'" << what << "' never came about: the simulation has lost its teeth\n";
    all = false;
  }
  return all;
}

int Run(const std::string& program, const Arguments& arguments) {
  const std::string plant = arguments.plant_name.empty() ? "" : " --plant " + arguments.plant_name;
  std::uint64_t broken = 0;
  std::uint64_t ran = 0;
  Totals totals;
  while (ran < arguments.seeds) {
    const std::uint64_t seed = arguments.first + ran++;
    if (RunSeed(seed, arguments, &totals)) continue;
    ++broken;
    std::cout << "  replay: " << program << " --seed " << seed << plant << "\n";
    // A broken harness makes members wait in vain up to limits that are long: one such seed is
    // enough.
    if (arguments.plant != Plant::kNone) break;
  }
  const bool enough = Report(totals, arguments);
  std::cout << ran << " seeds, " << broken << " broke a rule\n";
  return enough && (broken > 0) == (arguments.plant != Plant::kNone) ? 0 : 1;
}

}  // namespace
}  // namespace weir::sim

int main(int argc, char** argv) {
  const auto arguments = weir::sim::Parse({argv + 1, argv + argc});
  if (!arguments) {
    std::cerr << weir::sim::kUsage << weir::sim::PlantNames() << "\n";
    return 2;
  }
  return weir::sim::Run(argv[0], *arguments);
}
