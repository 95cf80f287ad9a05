#include "common/config/options.h"

#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config/flag_table.h"
#include "common/config/job_flags.h"
#include "common/config/model_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

using Arguments = std::vector<std::string>;

Environment With(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

JobOptions JobOf(const Arguments& arguments) {
  const absl::StatusOr<RunArguments> run = ParseRun(arguments, With({}));
  EXPECT_TRUE(run.ok()) << run.status();
  return run.ok() ? run->job : JobOptions{};
}

std::string MessageFor(const Arguments& arguments) {
  const absl::StatusOr<RunArguments> run = ParseRun(arguments, With({}));
  if (run.ok()) return "";
  EXPECT_EQ(run.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ExitCodeOf(run.status()), ExitCode::kBadUsage);
  return std::string(run.status().message());
}

std::string TempFile(const std::string& name, const std::string& content) {
  std::string path = testing::TempDir() + "/options_test_" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(ParseRunTest, DefaultsAreTheContracts) {
  const JobOptions job = JobOf({});
  EXPECT_EQ(job.job, "fashion-mnist");
  EXPECT_EQ(job.mode, "async");
  EXPECT_EQ(job.optimizer, "sgd");
  EXPECT_EQ(job.batch_size, 256);
  EXPECT_EQ(job.learning_rate, 0.1F);
  EXPECT_EQ(job.eval_steps, 0U);
  EXPECT_EQ(job.max_steps, std::nullopt);
  EXPECT_EQ(job.transport, TransportChoice::kAuto);
  EXPECT_EQ(job.model_dir, "");
  EXPECT_EQ(job.token, "");
}

TEST(ParseRunTest, ReadsEveryFlag) {
  const absl::StatusOr<RunArguments> run = ParseRun(Arguments{"--job",
                                                              "other",
                                                              "--data-dir",
                                                              "d",
                                                              "--model-dir=m with space",
                                                              "--max-steps",
                                                              "7",
                                                              "--batch-size=1",
                                                              "--learning-rate",
                                                              "1e-3",
                                                              "--optimizer",
                                                              "sgd",
                                                              "--mode=async",
                                                              "--transport",
                                                              "shm",
                                                              "--keep-checkpoint-max",
                                                              "0",
                                                              "--save-checkpoints-steps",
                                                              "50",
                                                              "--save-checkpoints-secs",
                                                              "2.5",
                                                              "--log-step-count-steps",
                                                              "10",
                                                              "--eval-steps",
                                                              "4",
                                                              "--backups",
                                                              "0",
                                                              "--seed",
                                                              "18446744073709551615",
                                                              "--summary",
                                                              "s.json",
                                                              "--net-devices",
                                                              "mlx5_0:1,eth0",
                                                              "--ucx-port-range",
                                                              "100-200",
                                                              "--end-linger",
                                                              "0",
                                                              "--start-deadline",
                                                              "0.5",
                                                              "--lease",
                                                              "2",
                                                              "--grace",
                                                              "5",
                                                              "--log-level",
                                                              "debug",
                                                              "--log-format=json",
                                                              "--tf-config",
                                                              "t.json"},
                                                    With({}));
  ASSERT_TRUE(run.ok()) << run.status();
  const JobOptions& job = run->job;
  EXPECT_EQ(job.job, "other");
  EXPECT_EQ(job.data_dir, "d");
  EXPECT_EQ(job.model_dir, "m with space");
  EXPECT_EQ(job.max_steps, 7U);
  EXPECT_EQ(job.batch_size, 1);
  EXPECT_EQ(job.learning_rate, 1e-3F);
  EXPECT_EQ(job.transport, TransportChoice::kShm);
  EXPECT_EQ(job.keep_checkpoint_max, 0);
  EXPECT_EQ(job.save_checkpoints_steps, 50U);
  EXPECT_EQ(job.save_checkpoints_secs, absl::Milliseconds(2500));
  EXPECT_EQ(job.log_step_count_steps, 10U);
  EXPECT_EQ(job.eval_steps, 4U);
  EXPECT_EQ(job.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(job.summary, "s.json");
  EXPECT_EQ(job.net_devices, "mlx5_0:1,eth0");
  EXPECT_EQ(job.ucx_port_range, "100-200");
  EXPECT_EQ(job.end_linger, absl::ZeroDuration());
  EXPECT_EQ(job.start_deadline, absl::Milliseconds(500));
  EXPECT_EQ(job.lease, absl::Seconds(2));
  EXPECT_EQ(job.grace, absl::Seconds(5));
  EXPECT_EQ(job.log_level, LogLevel::kDebug);
  EXPECT_EQ(job.log_format, LogFormat::kJson);
  EXPECT_EQ(run->tf_config_file, "t.json");
}

struct Illegal {
  Arguments arguments;
  std::string message;
};

TEST(ParseRunTest, SaysWhatIsWrong) {
  const std::vector<Illegal> cases = {
      {{"--batch-size", "0"}, "--batch-size: 0 is not in 1..1048576"},
      {{"--batch-size", "-1"}, "--batch-size: -1 is not in 1..1048576"},
      {{"--batch-size=1048577"}, "--batch-size: 1048577 is not in 1..1048576"},
      {{"--batch-size=99999999999999999999"}, "--batch-size: 99999999999999999999 is not in 1.."},
      {{"--batch-size", "1e3"}, "--batch-size: \"1e3\" is not a whole number; write one in 1.."},
      {{"--batch-size", "+5"}, "--batch-size: \"+5\" is not a whole number"},
      {{"--batch-size", " 5"}, "--batch-size: \" 5\" is not a whole number"},
      {{"--batch-size="}, "--batch-size: \"\" is not a whole number"},
      {{"--max-steps", "0"}, "--max-steps: 0 is not in 1..9007199254740992"},
      {{"--seed", "-1"}, "--seed: -1 is not in 0..18446744073709551615"},
      {{"--learning-rate", "0"}, "--learning-rate: \"0\" is not a number above 0"},
      {{"--learning-rate", "nan"}, "--learning-rate: \"nan\" is not a number above 0"},
      {{"--learning-rate", "inf"}, "--learning-rate: \"inf\" is not a number above 0"},
      {{"--learning-rate", "1e99"}, "--learning-rate: \"1e99\" is not a number above 0"},
      {{"--learning-rate", "0.1x"}, "--learning-rate: \"0.1x\" is not a number above 0"},
      {{"--learning-rate", "0,1"}, "--learning-rate: \"0,1\" is not a number above 0"},
      {{"--lease", "0.5"}, "--lease: 0.5 is not in 2..86400 seconds"},
      {{"--lease", "5s"}, "--lease: \"5s\" is not a number of seconds; write one in 2..86400"},
      {{"--lease", "1e1"}, "--lease: \"1e1\" is not a number of seconds"},
      {{"--grace", "-1"}, "--grace: -1 is not in 0..86400 seconds"},
      {{"--grace", "nan"}, "--grace: \"nan\" is not a number of seconds"},
      {{"--model-dir="}, "--model-dir: is empty"},
      {{"--model-dir", "s3://b/x"}, "--model-dir: \"s3://b/x\" is not a directory"},
      {{"--ucx-port-range", "5"}, "--ucx-port-range: \"5\" is not a range of ports"},
      {{"--ucx-port-range", "9-5"}, "--ucx-port-range: \"9-5\" is not a range of ports"},
      {{"--ucx-port-range", "0-5"}, "--ucx-port-range: \"0-5\" is not a range of ports"},
      {{"--ucx-port-range", "1-65536"}, "--ucx-port-range: \"1-65536\" is not a range"},
      {{"--net-devices", "a,,b"}, "--net-devices: \"a,,b\" is not a list of devices"},
      {{"--transport", "udp"}, "--transport: \"udp\" is not a transport; write auto, "
       "require-rdma, rdma, tcp or shm"},
      {{"--mode", "bounded:0"}, "--mode: bounded:0 is not in this version"},
      {{"--mode", "sync:2"}, "--mode: sync:2 is not in this version"},
      {{"--mode", "sync:0"}, "--mode: \"sync:0\" is not a mode; write async, bounded:S"},
      {{"--mode", "bounded"}, "--mode: \"bounded\" is not a mode"},
      {{"--mode", "bounded:-1"}, "--mode: \"bounded:-1\" is not a mode"},
      {{"--mode", "bounded:+1"}, "--mode: \"bounded:+1\" is not a mode"},
      {{"--mode", "bounded:1x"}, "--mode: \"bounded:1x\" is not a mode"},
      {{"--mode", "Async"}, "--mode: \"Async\" is not a mode"},
      {{"--optimizer", "adam"}, "--optimizer: \"adam\" is not in this version; it has sgd"},
      {{"--eval-every-steps", "5"}, "--eval-every-steps: not in this version"},
      {{"--backups", "1"}, "--backups: 1 is not in this version"},
      {{"--backups", "2"}, "--backups: \"2\" is not in 0..1"},
      {{"--batch_size", "5"}, "--batch_size: is no flag; did you mean --batch-size?"},
      {{"--max-step=5"}, "--max-step: is no flag; did you mean --max-steps?"},
      {{"--hlep"}, "--hlep: is no flag; did you mean --help?"},
      {{"--frobnicate"}, "--frobnicate: is no flag; see --help"},
      {{"-x"}, "-x: is no flag; see --help"},
      {{"--"}, "--: is no flag; see --help"},
      {{"--ps", "2"}, "--ps: is no flag"},
      {{"--seed"}, "--seed: has no value; write --seed N"},
      {{"--seed", "--lease=5"}, "--seed: has no value; write --seed N"},
      {{"--seed", "1", "--seed=1"}, "--seed: is given twice; keep one"},
      {{"--verbose"}, "--verbose: is no flag; write --log-level debug"},
      {{"-q"}, "-q: is no flag; write --log-level warning"},
      {{"--log-level", "warn"},
       "--log-level: \"warn\" is not a log level; write debug, info, warning or error"},
      {{"--log-format=JSON"}, "--log-format: \"JSON\" is not a log format; write text or json"},
      {{"chief"}, "\"chief\": is no flag; weir run takes flags only"},
      {{""}, "\"\": is no flag"},
      {{"--token-file", "/no/such"}, "--token-file: \"/no/such\" cannot be read: No such file"},
  };
  for (const Illegal& c : cases) {
    const std::string message = MessageFor(c.arguments);
    EXPECT_THAT(message, HasSubstr("weir run: 1 mistake\n  " + c.message)) << message;
  }
}

TEST(ParseRunTest, ReportsAllMistakesAtOnce) {
  const std::string message = MessageFor({"--batch-size", "0", "--fro", "x", "--lease", "--seed",
                                          "a", "--backups", "1", "--mode", "sync:1", "extra"});
  EXPECT_THAT(message, HasSubstr("weir run: 7 mistakes\n"));
  for (const char* key : {"--batch-size: 0", "--fro: ", "--lease: has no value", "--seed: \"a\"",
                          "--backups: 1 is not", "--mode: sync:1", "\"extra\": "})
    EXPECT_THAT(message, HasSubstr(std::string("\n  ") + key));
}

TEST(ParseRunTest, AMistakeLeavesHugeTextOut) {
  EXPECT_LT(
      MessageFor({"--" + std::string(100000, 'x'), "--seed", std::string(100000, 'y')}).size(),
      1000U);
}

TEST(ParseRunTest, HelpForgivesMistakes) {
  for (const Arguments& arguments :
       {Arguments{"--help"}, {"-h"}, {"--batch-size", "0", "--help"}, {"--seed", "--help"}}) {
    const absl::StatusOr<RunArguments> run = ParseRun(arguments, With({{"WEIR_TOKEN", ""}}));
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_TRUE(run->help_requested);
  }
  EXPECT_FALSE(ParseRun(Arguments{}, With({}))->help_requested);
}

TEST(ParseRunTest, SavingByStepsReplacesSavingByTime) {
  EXPECT_EQ(JobOf({}).save_checkpoints_secs, absl::Seconds(600));
  EXPECT_EQ(JobOf({"--save-checkpoints-steps", "5"}).save_checkpoints_secs, absl::ZeroDuration());
  EXPECT_EQ(JobOf({"--save-checkpoints-steps", "0"}).save_checkpoints_secs, absl::Seconds(600));
  EXPECT_EQ(JobOf({"--save-checkpoints-steps", "5", "--save-checkpoints-secs", "9"})
                .save_checkpoints_secs,
            absl::Seconds(9));
}

TEST(TokenTest, ComesFromTheFileElseTheVariable) {
  const std::string path = TempFile("token", "from-file\n");
  const Environment environment = With({{"WEIR_TOKEN", "from-variable"}});
  EXPECT_EQ(ParseRun(Arguments{}, environment)->job.token, "from-variable");
  EXPECT_EQ(ParseRun(Arguments{"--token-file", path}, environment)->job.token, "from-file");
  EXPECT_EQ(ParseLocal(Arguments{"--token-file", path}, With({}))->job.token, "from-file");
}

TEST(TokenTest, IsNeverQuotedInAMistake) {
  const std::pair<std::string, std::string> files[] = {
      {"", "is empty"},
      {"\n", "is empty"},
      {"secret word\n", "not printable ASCII"},
      {"secret\n\n", "not printable ASCII"},
      {"secret\xff", "not printable ASCII"},
      {std::string(1025, 's'), "is longer than 1024 bytes"},
      {std::string(5000, 's'), "cannot be read: larger than"},
  };
  for (const auto& [content, expected] : files) {
    const std::string message = MessageFor({"--token-file", TempFile("bad_token", content)});
    EXPECT_THAT(message, AllOf(HasSubstr("\n  --token-file: "), HasSubstr(expected),
                               Not(HasSubstr("secret")), Not(HasSubstr("sss"))));
  }
  EXPECT_THAT(MessageFor({"--token-file", "/tmp"}), HasSubstr("directory"));
}

TEST(TokenTest, AnEmptyVariableIsAMistake) {
  for (const char* value : {"", "secret word"}) {
    const absl::Status status = ParseRun(Arguments{}, With({{"WEIR_TOKEN", value}})).status();
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("\n  WEIR_TOKEN: "), Not(HasSubstr("secret"))));
  }
}

TEST(ParseLocalTest, ReadsItsOwnFlags) {
  const absl::StatusOr<LocalArguments> local = ParseLocal(
      Arguments{"--ps", "2", "--workers=3", "--evaluator", "--max-steps", "9"}, With({}));
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_EQ(local->ps, 2);
  EXPECT_EQ(local->workers, 3);
  EXPECT_TRUE(local->evaluator);
  EXPECT_EQ(local->job.max_steps, 9U);
  EXPECT_EQ(local->job.model_dir, "");
  const LocalArguments defaults = *ParseLocal(Arguments{}, With({}));
  EXPECT_EQ(defaults.ps, 1);
  EXPECT_EQ(defaults.workers, 1);
  EXPECT_FALSE(defaults.evaluator);
}

TEST(ParseLocalTest, SaysWhatIsWrong) {
  const absl::Status status =
      ParseLocal(Arguments{"--ps", "0", "--workers", "257", "--evaluator=1", "--tf-config", "f"},
                 With({}))
          .status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("weir local: 4 mistakes"));
  EXPECT_THAT(message, HasSubstr("--ps: 0 is not in 1..256"));
  EXPECT_THAT(message, HasSubstr("--workers: 257 is not in 1..256"));
  EXPECT_THAT(message, HasSubstr("--evaluator: takes no value"));
  EXPECT_THAT(message, HasSubstr("--tf-config: is no flag"));
}

std::string Help(const std::vector<FlagText>& rows) { return FlagsHelp(rows); }

TEST(HelpTest, ShowsEveryFlagWithItsDefault) {
  JobOptions job;
  for (const Flag& flag : JobFlags(job)) {
    EXPECT_THAT(Help(RunFlagTexts()), HasSubstr(flag.name));
    EXPECT_THAT(Help(LocalFlagTexts()), HasSubstr(flag.name));
    EXPECT_TRUE(!flag.in_this_version || !flag.help.empty()) << flag.name;
  }
  EXPECT_THAT(Help(RunFlagTexts()),
              AllOf(HasSubstr("--tf-config FILE"), Not(HasSubstr("--workers"))));
  EXPECT_THAT(Help(LocalFlagTexts()),
              AllOf(HasSubstr("--workers N"), Not(HasSubstr("--tf-config"))));
  EXPECT_THAT(Help(RunFlagTexts()), HasSubstr("examples a step [256]"));
  EXPECT_THAT(Help(RunFlagTexts()), HasSubstr("[600; 0 beside --save-checkpoints-steps]"));
  EXPECT_THAT(Help(RunFlagTexts()),
              HasSubstr("Not in this version: --eval-every-steps, --backups"));
}

// What ParseRun makes of ToFlags; compared through ToFlags itself, which shows every field but the
// token (the test below checks that none is forgotten).
void ExpectRoundTrip(const JobOptions& job) {
  const Arguments flags = ToFlags(job);
  const absl::StatusOr<RunArguments> run = ParseRun(flags, With({}));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(ToFlags(run->job), flags);
  EXPECT_EQ(run->job.max_steps, job.max_steps);
  EXPECT_EQ(run->job.learning_rate, job.learning_rate);
  EXPECT_EQ(run->job.save_checkpoints_steps, job.save_checkpoints_steps);
  EXPECT_EQ(run->job.save_checkpoints_secs, job.save_checkpoints_secs);
  EXPECT_EQ(run->job.lease, job.lease);
  EXPECT_EQ(run->job.model_dir, job.model_dir);
  EXPECT_EQ(run->job.log_level, job.log_level);
  EXPECT_EQ(run->job.log_format, job.log_format);
  EXPECT_EQ(run->job.seed, job.seed);
  EXPECT_EQ(run->job.transport, job.transport);
}

JobOptions NothingAsByDefault() {
  JobOptions job;
  job.job = "other";
  job.data_dir = "--odd name=1";
  job.model_dir = "/m with \"space\"";
  job.max_steps = 12;
  job.batch_size = 3;
  job.learning_rate = 1.0F / 3;
  job.transport = TransportChoice::kTcp;
  job.keep_checkpoint_max = 1;
  job.save_checkpoints_steps = 4;
  job.save_checkpoints_secs = absl::Nanoseconds(1234567891);
  job.log_step_count_steps = 2;
  job.eval_steps = 6;
  job.seed = std::numeric_limits<std::uint64_t>::max();
  job.summary = "s.json";
  job.net_devices = "lo";
  job.ucx_port_range = "1-2";
  job.token = "secret";
  job.tls_cert = "c.pem";
  job.tls_key = "k.pem";
  job.tls_ca = "a.pem";
  job.end_linger = absl::Milliseconds(1);
  job.start_deadline = absl::Seconds(1.1);
  job.lease = absl::Seconds(3.3);
  job.grace = absl::Microseconds(7);
  job.log_level = LogLevel::kError;
  job.log_format = LogFormat::kJson;
  return job;
}

TEST(ToFlagsTest, ComesBackThroughTheParser) {
  ExpectRoundTrip(JobOptions{});
  ExpectRoundTrip(NothingAsByDefault());
  JobOptions by_steps;
  by_steps.save_checkpoints_steps = 5;
  ExpectRoundTrip(by_steps);
}

TEST(ToFlagsTest, ShowsEveryFieldButTheToken) {
  JobOptions job = NothingAsByDefault();
  const Arguments flags = ToFlags(job);
  for (const Flag& flag : JobFlags(job)) {
    if (!flag.in_this_version || flag.name == "--token-file") continue;
    const std::string start = flag.name + (flag.placeholder.empty() ? "" : "=");
    EXPECT_THAT(flags, Contains(::testing::StartsWith(start)));
  }
  EXPECT_THAT(flags, Not(Contains(HasSubstr("secret"))));
  EXPECT_THAT(flags, Not(Contains(HasSubstr("token"))));
}

TEST(MergeModelDirTest, TakesEitherAndRefusesTwo) {
  const auto merge = [](const std::string& flag, std::optional<std::string> listed) {
    JobOptions job;
    job.model_dir = flag;
    TfConfig config;
    config.model_dir = std::move(listed);
    return MergeModelDir(job, config);
  };
  EXPECT_EQ(*merge("/a", std::nullopt), "/a");
  EXPECT_EQ(*merge("", "/a"), "/a");
  EXPECT_EQ(*merge("/a/./b/", "/a/b"), "/a/./b/");
  EXPECT_THAT(std::string(merge("/a", "/b").status().message()),
              HasSubstr("--model-dir: \"/a\" is not TF_CONFIG's model_dir \"/b\""));
  EXPECT_THAT(std::string(merge("", std::nullopt).status().message()),
              HasSubstr("--model-dir: is missing; write --model-dir DIR"));
  EXPECT_EQ(ExitCodeOf(merge("/a", "/b").status()), ExitCode::kBadUsage);
}

TEST(LoadRunTest, JoinsFlagsAndCluster) {
  const absl::StatusOr<RunSetup> setup =
      LoadRun(Arguments{"--seed", "3"}, With({{"TF_CONFIG", R"({"model_dir": "/m"})"}}));
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_EQ(setup->arguments.job.model_dir, "/m");
  EXPECT_EQ(setup->arguments.job.seed, 3U);
  EXPECT_FALSE(setup->config.cluster.has_value());
}

TEST(LoadRunTest, ReportsTheMistakesOfBoth) {
  const absl::Status status =
      LoadRun(Arguments{"--seed", "x"}, With({{"TF_CONFIG", "[]"}})).status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("weir run: 1 mistake\n  --seed: "),
                    HasSubstr("\nTF_CONFIG: 1 mistake\n  TF_CONFIG: [] is not")));
}

TEST(LoadRunTest, NeedsAModelDir) {
  EXPECT_THAT(std::string(LoadRun(Arguments{}, With({})).status().message()),
              HasSubstr("--model-dir: is missing"));
  EXPECT_TRUE(LoadRun(Arguments{"--help"}, With({{"TF_CONFIG", "[]"}}))->arguments.help_requested);
}

}  // namespace
}  // namespace weir
