#include "runtime/client_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "weir/exit_code.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kWorker[] = R"({"cluster": {"chief": ["a:1"], "ps": ["b:1", "c:1"],
    "worker": ["d:1", "e:1"]}, "task": {"type": "worker", "index": 1}})";

Environment With(std::map<std::string, std::string> variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

ClientConfig Good() { return {.job = "line", .tensors = {{.name = "w", .shape = {3}}}}; }

std::string MistakesOf(const ClientConfig& config, const Environment& environment) {
  const auto setup = SetupOfClient(config, environment);
  EXPECT_FALSE(setup.ok());
  EXPECT_EQ(ExitCodeOf(setup.status()), ExitCode::kBadUsage);
  return std::string(setup.status().message());
}

TEST(ClientSetup, TakesTheEnvironmentWhereTheConfigurationIsSilent) {
  const auto setup = SetupOfClient(Good(), With({{"TF_CONFIG", kWorker}, {"WEIR_TOKEN", "t"}}));
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_EQ(setup->task, (Task{RoleType::kWorker, 1}));
  EXPECT_EQ(setup->cluster.ps_count(), 2);
  EXPECT_EQ(setup->options.token, "t");
  EXPECT_EQ(setup->job_name, "line");
  EXPECT_TRUE(setup->external());
}

TEST(ClientSetup, TheConfigurationGoesBeforeTheEnvironment) {
  ClientConfig config = Good();
  config.tf_config = kWorker;
  config.token = "mine";
  const auto setup = SetupOfClient(config, With({{"TF_CONFIG", "[]"}, {"WEIR_TOKEN", ""}}));
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_EQ(setup->options.token, "mine");
}

TEST(ClientSetup, AllMistakesAtOnce) {
  ClientConfig config = Good();
  config.job = "";
  config.tensors.push_back(config.tensors[0]);
  config.ucx_port_range = "9-1";
  config.net_devices = ",";
  config.start_deadline = absl::ZeroDuration();
  config.token = "white space";
  EXPECT_THAT(MistakesOf(config, With({{"TF_CONFIG", "[]"}})),
              AllOf(HasSubstr("job: "), HasSubstr("tensors: "), HasSubstr("ucx_port_range: "),
                    HasSubstr("net_devices: "), HasSubstr("start_deadline: "), HasSubstr("token: "),
                    HasSubstr("TF_CONFIG: ")));
}

TEST(ClientSetup, ItsTaskIsAWorkerOfAClusterWithAChief) {
  EXPECT_THAT(MistakesOf(Good(), With({})), HasSubstr("weir local --job FILE.json -- PROGRAM"));
  EXPECT_THAT(MistakesOf(Good(), With({{"TF_CONFIG", R"({"cluster": {"chief": ["a:1"],
      "ps": ["b:1"], "worker": ["d:1"]}, "task": {"type": "ps", "index": 0}})"}})),
              HasSubstr("task.type: is ps"));
  EXPECT_THAT(MistakesOf(Good(), With({{"TF_CONFIG", R"({"cluster": {"ps": ["b:1"],
      "worker": ["d:1"]}, "task": {"type": "worker", "index": 0}})"}})),
              HasSubstr("cluster.chief"));
}

}  // namespace
}  // namespace weir
