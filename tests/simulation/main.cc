// Runs seeds of the simulation; a seed that breaks a rule is printed with the command that replays
// it. Exit codes: 0 all is well, 1 a rule was broken (with --plant: none was), 2 bad arguments.
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "tests/simulation/scenario.h"
#include "tests/simulation/sim_cluster.h"

namespace weir::sim {
namespace {

constexpr const char* kUsage =
    "usage: simulation [--seeds N] [--first SEED] | --seed SEED   [--plant NAME]\n"
    "  --seeds N     runs N seeds (300), from --first (1) on\n"
    "  --seed SEED   runs one and prints what happens\n"
    "  --plant NAME  breaks the harness (reapply-repeats, acknowledge-lost, push-read-late,\n"
    "                block-read-late, ignore-views, no-ticks); succeeds when that is noticed\n";

struct Arguments {
  std::uint64_t seeds = 300;
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

// Returns whether every rule held.
bool RunSeed(std::uint64_t seed, const Arguments& arguments, std::uint64_t* events) {
  const Scenario scenario = MakeScenario(seed, arguments.plant);
  if (arguments.trace) std::cout << "seed " << seed << ": " << scenario.Describe() << "\n";
  SimCluster cluster(scenario, arguments.trace);
  const std::vector<Violation> violations = cluster.Run();
  *events += cluster.events();
  for (const Violation& violation : violations) {
    std::cout << "seed " << seed << " breaks '" << RuleName(violation.rule)
              << "': " << violation.what << "\n";
  }
  return violations.empty();
}

int Run(const std::string& program, const Arguments& arguments) {
  const std::string plant = arguments.plant_name.empty() ? "" : " --plant " + arguments.plant_name;
  std::uint64_t broken = 0;
  std::uint64_t events = 0;
  for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
    const std::uint64_t seed = arguments.first + i;
    if (RunSeed(seed, arguments, &events)) continue;
    ++broken;
    std::cout << "  replay: " << program << " --seed " << seed << plant << "\n";
  }
  std::cout << arguments.seeds << " seeds, " << events << " events, " << broken
            << " broke a rule\n";
  return (broken > 0) == (arguments.plant != Plant::kNone) ? 0 : 1;
}

}  // namespace
}  // namespace weir::sim

int main(int argc, char** argv) {
  const auto arguments = weir::sim::Parse({argv + 1, argv + argc});
  if (!arguments) {
    std::cerr << weir::sim::kUsage;
    return 2;
  }
  return weir::sim::Run(argv[0], *arguments);
}
