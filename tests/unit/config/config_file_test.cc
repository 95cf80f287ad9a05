#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config/effective_options.h"
#include "common/config/options.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Arguments = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

Environment With(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string File(const std::string& content, const std::string& name = "config.json") {
  std::string path = testing::TempDir() + "/config_file_test_" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string MessageFor(const std::string& content) {
  const absl::Status status = ParseRun(Arguments{"--config", File(content)}, With({})).status();
  if (status.ok()) return "";
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
  return std::string(status.message());
}

template <typename Parsed>
EffectiveOption Find(const Parsed& arguments, const std::string& name) {
  for (EffectiveOption& option : EffectiveOptions(arguments)) {
    if (option.name == name) return option;
  }
  ADD_FAILURE() << "there is no option " << name;
  return {};
}

TEST(ConfigFileTest, TakesNumbersTextAndTruthValues) {
  const std::string file = File(R"({
    "job": "other", "data-dir": "d", "model-dir": "/m with space", "max-steps": 7, "batch-size": 1,
    "learning-rate": 1e-3, "optimizer": "sgd", "mode": "async", "transport": "shm",
    "keep-checkpoint-max": 0, "save-checkpoints-steps": 50, "save-checkpoints-secs": 2.5,
    "log-step-count-steps": 10, "eval-steps": 4, "backups": 0, "seed": 18446744073709551615,
    "summary": "s.json", "net-devices": "mlx5_0:1,eth0", "ucx-port-range": "100-200",
    "end-linger": 0, "start-deadline": 0.5, "lease": 2, "grace": 5.0,
    "ps": 2, "workers": 3, "evaluator": true})");
  const auto local = ParseLocal(Arguments{"--config", file}, With({}));
  ASSERT_TRUE(local.ok()) << local.status();
  const auto flags = ParseLocal(Arguments{"--job=other",
                                          "--data-dir=d",
                                          "--model-dir=/m with space",
                                          "--max-steps=7",
                                          "--batch-size=1",
                                          "--learning-rate=1e-3",
                                          "--transport=shm",
                                          "--keep-checkpoint-max=0",
                                          "--save-checkpoints-steps=50",
                                          "--save-checkpoints-secs=2.5",
                                          "--log-step-count-steps=10",
                                          "--eval-steps=4",
                                          "--seed=18446744073709551615",
                                          "--summary=s.json",
                                          "--net-devices=mlx5_0:1,eth0",
                                          "--ucx-port-range=100-200",
                                          "--end-linger=0",
                                          "--start-deadline=0.5",
                                          "--lease=2",
                                          "--grace=5"},
                                With({}));
  ASSERT_TRUE(flags.ok()) << flags.status();
  // A child gets the file's values as flags.
  EXPECT_EQ(ToFlags(local->job), ToFlags(flags->job));
  EXPECT_EQ(std::pair(local->ps, local->workers), std::pair(2, 3));
  EXPECT_TRUE(local->evaluator);
  EXPECT_FALSE(
      ParseLocal(Arguments{"--config", File(R"({"evaluator": false})")}, With({}))->evaluator);
}

TEST(ConfigFileTest, AFlagGoesBeforeIt) {
  const std::string file = File(R"({"batch-size": 7, "seed": 8, "save-checkpoints-steps": 5})");
  const auto run = ParseRun(Arguments{"--batch-size", "9", "--config", file}, With({}));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->job.batch_size, 9);
  EXPECT_EQ(run->job.seed, 8U);
  EXPECT_EQ(run->job.save_checkpoints_secs, absl::ZeroDuration()) << "as beside the flag";
  EXPECT_EQ(Find(*run, "batch-size").origin, Origin::kFlag);
  EXPECT_EQ(Find(*run, "seed").origin, Origin::kFile);
  EXPECT_EQ(Find(*run, "lease").origin, Origin::kDefault);
}

TEST(ConfigFileTest, GivesWayToTfConfigsModelDir) {
  const std::string file = File(R"({"model-dir": "/of-the-file"})");
  const Environment environment = With({{"TF_CONFIG", R"({"model_dir": "/m"})"}});
  const auto listed = LoadRun(Arguments{"--config", file}, environment);
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ(listed->arguments.job.model_dir, "/m");
  EXPECT_EQ(Find(listed->arguments, "model-dir").origin, Origin::kTfConfig);
  const auto alone = LoadRun(Arguments{"--config", file}, With({}));
  EXPECT_EQ(alone->arguments.job.model_dir, "/of-the-file");
  EXPECT_EQ(Find(alone->arguments, "model-dir").origin, Origin::kFile);
  EXPECT_FALSE(LoadRun(Arguments{"--model-dir", "/other"}, environment).ok());
}

TEST(ConfigFileTest, TellsEveryMistakeWithItsLine) {
  const std::string message = MessageFor(
      "{\"batch-size\": 0,\n\"batch_size\": 5, \"seed\": \"1\",\n \"model-dir\": 5,\n"
      "\"lease\": 5, \"lease\": 6, \"mode\": \"sync:2\",\n\"ps\": 2, \"tls-cert\": null,\n"
      "\"--grace\": 1, \"frobnicate\": [], \"learning-rate\": true}");
  EXPECT_THAT(message, HasSubstr("weir run: 11 mistakes\n"));
  const std::string start = "\n  " + testing::TempDir() + "/config_file_test_config.json:";
  for (const char* mistake :
       {"1: batch-size: 0 is not in 1..1048576",
        "2: batch_size: is no option of weir run; did you mean batch-size?",
        "2: seed: \"1\" is text; write a number, without quotes",
        "3: model-dir: 5 is a number; write it in quotes",
        "4: lease: stands twice in its object; keep one", "4: mode: sync:2 is not in this version",
        "5: ps: is no option of weir run",
        "6: --grace: is no option of weir run; did you mean grace?",
        "6: frobnicate: is no option of weir run; see weir run --help",
        "6: learning-rate: true is not a number"})
    EXPECT_THAT(message, HasSubstr(start + mistake));
}

TEST(ConfigFileTest, ItsMistakesStandBesideTheFlags) {
  const absl::Status status =
      ParseRun(Arguments{"--seed", "x", "--config", File(R"({"seed": -1})")}, With({})).status();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("2 mistakes"), HasSubstr("seed: -1 is not in"),
                    HasSubstr("\n  --seed: \"x\" is not")));
}

TEST(ConfigFileTest, RefusesWhatIsNoSuchFile) {
  EXPECT_THAT(MessageFor("[]"), HasSubstr("[] is not a JSON object; write {"));
  EXPECT_THAT(MessageFor(""), HasSubstr("is not JSON"));
  EXPECT_THAT(MessageFor("{\"seed\": 1,}"), AllOf(HasSubstr("is not JSON"), HasSubstr("line 1")));
  EXPECT_THAT(MessageFor(R"({"config": "other.json"})"), HasSubstr("cannot name another"));
  for (const auto& [path, why] : {std::pair("/no/such", "No such file"), {"/tmp", "directory"}}) {
    const absl::Status status = ParseLocal(Arguments{"--config", path}, With({})).status();
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("\n  --config: \""), HasSubstr(why)));
  }
  EXPECT_THAT(std::string(ParseRun(Arguments{"--config", ""}, With({})).status().message()),
              HasSubstr("--config: is empty"));
}

TEST(ConfigFileTest, HoldsNoToken) {
  EXPECT_THAT(MessageFor(R"({"token": "s3cret"})"),
              AllOf(HasSubstr("token: does not stand"), HasSubstr("write token-file"),
                    Not(HasSubstr("s3cret"))));
  const std::string token = File("of-the-file\n", "token");
  const std::string file = File("{\"token-file\": \"" + token + "\"}");
  const auto run = ParseRun(Arguments{"--config", file}, With({{"WEIR_TOKEN", "of-the-variable"}}));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->job.token, "of-the-file");
}

TEST(EffectiveOptionsTest, NeverShowTheToken) {
  const auto run = ParseRun(Arguments{}, With({{"WEIR_TOKEN", "s3cret"}}));
  for (const EffectiveOption& option : EffectiveOptions(*run))
    EXPECT_THAT(option.value.value_or(""), Not(HasSubstr("s3cret"))) << option.name;
  EXPECT_EQ(Find(*run, "token-file").value, "set");
  EXPECT_EQ(Find(*run, "token-file").origin, Origin::kEnvironment);
  EXPECT_EQ(Find(*ParseRun(Arguments{}, With({})), "token-file").value, std::nullopt);
}

TEST(EffectiveOptionsTest, AreThoseOfTheCommand) {
  const auto local = ParseLocal(Arguments{"--evaluator"}, With({}));
  EXPECT_EQ(Find(*local, "evaluator").value, "true");
  EXPECT_EQ(Find(*local, "workers").value, "1");
  EXPECT_EQ(Find(*local, "model-dir").value, std::nullopt);
  EXPECT_EQ(Find(*local, "model-dir").default_text, "a fresh one");
}

}  // namespace
}  // namespace weir
