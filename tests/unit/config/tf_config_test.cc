#include "common/config/tf_config.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "common/config/shown_json.h"
#include "common/config/tf_cluster.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A TF_CONFIG text of a cluster's text and a task.
std::string Config(const std::string& cluster, const std::string& task) {
  return R"({"cluster": )" + cluster + R"(, "task": )" + task + "}";
}

constexpr char kTutorial[] =
    R"({"chief": ["c:1"], "ps": ["p0:1", "p1:1"], "worker": ["w0:1", "w1:1", "w2:1"]})";
constexpr char kWorker0[] = R"({"type": "worker", "index": 0})";
constexpr char kPs0[] = R"({"type": "ps", "index": 0})";

std::string MessageFor(const std::string& text) {
  const absl::StatusOr<TfConfig> config = ParseTfConfig(text, "TF_CONFIG");
  if (config.ok()) return "";
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ExitCodeOf(config.status()), ExitCode::kBadUsage);
  return std::string(config.status().message());
}

ClusterSpec SpecOf(const std::string& text) {
  const absl::StatusOr<TfConfig> config = ParseTfConfig(text, "TF_CONFIG");
  EXPECT_TRUE(config.ok()) << config.status();
  if (!config.ok() || !config->cluster.has_value()) return {};
  return *config->cluster;
}

TEST(TfConfigTest, ReadsTheTutorialsCluster) {
  const ClusterSpec spec = SpecOf(Config(kTutorial, R"({"type": "worker", "index": 2})"));
  EXPECT_THAT(spec.chief, UnorderedElementsAre(Pair(0, "c:1")));
  EXPECT_THAT(spec.ps, UnorderedElementsAre(Pair(0, "p0:1"), Pair(1, "p1:1")));
  EXPECT_EQ(spec.worker_count(), 3);
  EXPECT_EQ(spec.ps_count(), 2);
  EXPECT_THAT(spec.evaluator, IsEmpty());
  EXPECT_EQ(spec.self, (Task{RoleType::kWorker, 2}));
  EXPECT_FALSE(spec.worker_hosts_chief || spec.chief_hosts_worker || spec.loopback_only);
  EXPECT_EQ(spec.chief_address(), "c:1");
  EXPECT_EQ(&spec.addresses(RoleType::kPs), &spec.ps);
}

TEST(TfConfigTest, ReadsEveryFormOfTask) {
  const std::map<std::string, Task> cases = {
      {R"({"type": "chief", "index": 0})", {RoleType::kChief, 0}},
      {R"({"type": "ps", "index": 1})", {RoleType::kPs, 1}},
      {R"({"type": "worker", "index": "2"})", {RoleType::kWorker, 2}},
      {R"({"type": "worker", "index": " 1 "})", {RoleType::kWorker, 1}},
      {R"({"type": "worker", "index": "02"})", {RoleType::kWorker, 2}},
      {R"({"type": "worker", "index": 1.0})", {RoleType::kWorker, 1}},
      {R"({"type": "worker", "index": -0})", {RoleType::kWorker, 0}},
      {R"({"type": "evaluator", "index": 0})", {RoleType::kEvaluator, 0}},
      {R"({"type": "evaluator", "index": 12345678})", {RoleType::kEvaluator, 12345678}},
  };
  for (const auto& [task, expected] : cases)
    EXPECT_EQ(SpecOf(Config(kTutorial, task)).self, expected) << task;
}

TEST(TfConfigTest, IndicesMayHaveGaps) {
  const ClusterSpec spec = SpecOf(
      Config(R"({"chief": {"0": "c:1"}, "ps": {"3": "p:3", "7": "p:7"}, "worker": {"5": "w:5"}})",
             R"({"type": "ps", "index": 7})"));
  EXPECT_THAT(spec.ps, UnorderedElementsAre(Pair(3, "p:3"), Pair(7, "p:7")));
  EXPECT_THAT(spec.worker, UnorderedElementsAre(Pair(5, "w:5")));
  EXPECT_EQ(spec.self, (Task{RoleType::kPs, 7}));
}

TEST(TfConfigTest, MasterIsTheChief) {
  const ClusterSpec spec = SpecOf(Config(R"({"master": ["m:1"], "ps": ["p:1"], "worker": ["w:1"]})",
                                         R"({"type": "master", "index": 0})"));
  EXPECT_EQ(spec.chief_address(), "m:1");
  EXPECT_EQ(spec.self, (Task{RoleType::kChief, 0}));
}

TEST(TfConfigTest, WithoutChiefTheLowestWorkerHostsIt) {
  for (const char* cluster :
       {R"({"ps": ["p:1"], "worker": {"4": "w:4", "2": "w:2"}})",
        R"({"chief": [], "ps": ["p:1"], "worker": {"4": "w:4", "2": "w:2"}})"}) {
    const ClusterSpec spec = SpecOf(Config(cluster, R"({"type": "worker", "index": 4})"));
    EXPECT_TRUE(spec.worker_hosts_chief);
    EXPECT_FALSE(spec.chief_hosts_worker);
    EXPECT_EQ(spec.chief_address(), "w:2");
    EXPECT_EQ(spec.worker_count(), 2);
  }
}

TEST(TfConfigTest, WithoutWorkersTheChiefHostsWorker0) {
  for (const char* cluster : {R"({"chief": ["c:1"], "ps": ["p:1"]})",
                              R"({"chief": ["c:1"], "ps": ["p:1"], "worker": []})",
                              R"({"master": ["c:1"], "ps": ["p:1"], "worker": {}})"}) {
    const ClusterSpec spec = SpecOf(Config(cluster, kPs0));
    EXPECT_TRUE(spec.chief_hosts_worker);
    EXPECT_FALSE(spec.worker_hosts_chief);
    EXPECT_THAT(spec.worker, UnorderedElementsAre(Pair(0, "c:1")));
  }
}

TEST(TfConfigTest, KnowsAClusterOfLoopbackOnly) {
  EXPECT_TRUE(
      SpecOf(Config(R"({"chief": ["localhost:1"], "ps": ["127.0.0.1:2"], "worker": ["[::1]:3"]})",
                    kWorker0))
          .loopback_only);
}

TEST(TfConfigTest, AListedEvaluatorHasAnAddress) {
  const ClusterSpec spec =
      SpecOf(Config(R"({"chief": ["c:1"], "ps": ["p:1"], "worker": ["w:1"], "evaluator": ["e:1"]})",
                    R"({"type": "evaluator", "index": 3})"));
  EXPECT_THAT(spec.evaluator, UnorderedElementsAre(Pair(0, "e:1")));
  EXPECT_EQ(spec.self, (Task{RoleType::kEvaluator, 3}));
}

TEST(TfConfigTest, WithoutAClusterItIsLocal) {
  for (const char* text : {"{}", R"({"task": {}})", R"({"task": {"type": "worker"}})",
                           R"({"cluster": {}})", R"({"task": {"type": "worker", "index": "0"}})",
                           R"({"cluster": {}, "task": {"type": "worker", "index": 0}})", " \n{} ",
                           R"({"environment": "cloud", "model_dir": null})"}) {
    const absl::StatusOr<TfConfig> config = ParseTfConfig(text, "TF_CONFIG");
    ASSERT_TRUE(config.ok()) << text << config.status();
    EXPECT_FALSE(config->cluster.has_value()) << text;
    EXPECT_FALSE(config->model_dir.has_value()) << text;
  }
}

TEST(TfConfigTest, NotesWhatItIgnores) {
  const absl::StatusOr<TfConfig> config = ParseTfConfig(
      R"({"environment": "cloud", "job": {}, "rpc_layer": "grpc", "service": {}, "model_dir": "/m",
          "task": {"type": "worker", "trial": 1, "cloud": {}}, "trial": "1", "cloud": {}})",
      "TF_CONFIG");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->notes,
            "TF_CONFIG: ignored keys: cloud, environment, job, rpc_layer, service, trial, "
            "task.cloud, task.trial");
  EXPECT_EQ(config->model_dir, "/m");
}

struct Illegal {
  std::string text, message;
};

void ExpectEach(const std::vector<Illegal>& cases) {
  for (const Illegal& c : cases) {
    const std::string message = MessageFor(c.text);
    EXPECT_THAT(message, HasSubstr("\n  " + c.message)) << c.text;
    EXPECT_THAT(message, HasSubstr("TF_CONFIG: 1 mistake\n")) << c.text << "\n" << message;
  }
}

TEST(TfConfigTest, RefusesWhatIsNoObject) {
  ExpectEach({
      {"", "TF_CONFIG: is empty"},
      {" \n\t", "TF_CONFIG: is empty"},
      {"null", "TF_CONFIG: null is not a JSON object"},
      {"[]", "TF_CONFIG: [] is not a JSON object"},
      {"\"x\"", "TF_CONFIG: \"x\" is not a JSON object"},
      {"7", "TF_CONFIG: 7 is not a JSON object"},
      {"cluster", "TF_CONFIG: is not JSON"},
      {"{\"a\": \"\xff\"}", "TF_CONFIG: is not JSON"},
      {std::string(100000, '['), "TF_CONFIG: is nested deeper"},
      {R"({"environment": )" + std::string(100, '[') + std::string(100, ']') + "}",
       "TF_CONFIG: is nested deeper"},
      {R"({"task": {}, "task": {}})", "task: stands twice"},
      {Config(R"({"chief": ["c:1"], "ps": ["p:1"], "ps": ["p:1"], "worker": ["w:1"]})", kWorker0),
       "cluster.ps: stands twice"},
      {Config(kTutorial, R"({"type": "worker", "index": 0, "index": 1})"),
       "task.index: stands twice"},
  });
}

TEST(TfConfigTest, RefusesWrongClusters) {
  const auto with = [](const std::string& jobs) { return Config("{" + jobs + "}", kWorker0); };
  ExpectEach({
      {Config("null", kWorker0), "cluster: null is not an object"},
      {Config("[]", kWorker0), "cluster: [] is not an object"},
      {Config("\"c:1\"", kWorker0), "cluster: \"c:1\" is not an object"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"])"), "cluster.ps: has no task"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": [])"), "cluster.ps: has no task"},
      {with(R"("chief": ["c:1", "d:1"], "worker": ["w:1"], "ps": ["p:1"])"),
       "cluster.chief: has 2 tasks; list exactly one"},
      {with(R"("chief": {"1": "c:1"}, "worker": ["w:1"], "ps": ["p:1"])"),
       "cluster.chief: has the index 1"},
      {with(R"("chief": ["c:1"], "master": ["m:1"], "worker": ["w:1"], "ps": ["p:1"])"),
       "cluster.master: stands beside chief"},
      {with(R"("chief": [], "master": ["m:1"], "worker": ["w:1"], "ps": ["p:1"])"),
       "cluster.master: stands beside chief"},
      {with(R"("master": ["m:1"], "worker": ["w:1"], "ps": ["p:1"], "evaluator": ["e:1"])"),
       "cluster.evaluator: cannot stand beside master"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": ["p:1"], "Worker": ["x:1"])"),
       "cluster.Worker: is not a job; write chief, worker, ps or evaluator (or master, the old "
       "word "
       "for chief); did you mean worker?"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": ["p:1"], "tpu": [])"),
       "cluster.tpu: is not a job"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": "p:1")"),
       R"(cluster.ps: "p:1" is neither a list nor an object; write ["p:1"] or {"0": "p:1"})"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": null)"), "cluster.ps: null is neither"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": 2)"), "cluster.ps: 2 is neither"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": [null])"),
       "cluster.ps[0]: null is not an address"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": ["p:1", ["q:1"]])"),
       "cluster.ps[1]: [\"q:1\"] is not an address"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": ["p:1", "q"])"),
       "cluster.ps[1]: \"q\" has no port; write host:port"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": ["p:0"])"),
       "cluster.ps[0]: \"p:0\" has the port \"0\""},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": {"7": "p:65536"})"),
       "cluster.ps[7]: \"p:65536\" has the port"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": ["grpc://p:1"])"),
       "cluster.ps[0]: \"grpc://p:1\" has a scheme"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": {"x": "p:1"})"),
       "cluster.ps[x]: \"x\" is not an index; write a number 0-65534"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": {"-1": "p:1"})"),
       "cluster.ps[-1]: \"-1\" is not an index"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": {"65535": "p:1"})"),
       "cluster.ps[65535]: \"65535\" is not an index"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": {"0": "p:1", "00": "q:1"})"),
       "cluster.ps[00]: index 0 stands twice"},
      {Config(R"({"ps": ["p:1"]})", kPs0), "cluster: has neither a chief nor a worker"},
  });
}

TEST(TfConfigTest, RefusesAddressesThatClash) {
  const auto with = [](const std::string& jobs) { return Config("{" + jobs + "}", kWorker0); };
  ExpectEach({
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": ["p:1", "P.:01"])"),
       "cluster.ps[1]: \"P.:1\" is also the address of cluster.ps[0]"},
      {with(R"("chief": ["c:1"], "worker": ["c:1"], "ps": ["p:1"])"),
       "cluster.worker[0]: \"c:1\" is also the address of cluster.chief[0]"},
      {with(R"("chief": ["localhost:1"], "worker": ["127.0.0.1:1"], "ps": ["127.0.0.1:2"])"),
       "cluster.worker[0]: \"127.0.0.1:1\" is also the address of cluster.chief[0]"},
      {with(R"("chief": ["c:1"], "worker": ["127.0.0.1:1"], "ps": ["p:2"])"),
       "cluster: mixes loopback, cluster.worker[0] (\"127.0.0.1:1\"), with other hosts, "
       "cluster.chief[0] (\"c:1\")"},
      {with(R"("chief": ["[::1]:1"], "worker": ["10.0.0.1:1"], "ps": ["10.0.0.1:2"])"),
       "cluster: mixes loopback"},
      {with(R"("chief": ["c:1"], "worker": ["w:1"], "ps": ["p:2"], "evaluator": ["localhost:1"])"),
       "cluster: mixes loopback, cluster.evaluator[0]"},
  });
}

TEST(TfConfigTest, RefusesWrongTasks) {
  const auto with = [](const std::string& task) { return Config(kTutorial, task); };
  ExpectEach({
      {R"({"cluster": )" + std::string(kTutorial) + "}", "task: is missing"},
      {with("null"), "task: null is not an object"},
      {with("[]"), "task: [] is not an object"},
      {with(R"({"index": 0})"), "task.type: is missing"},
      {with(R"({"type": "Worker", "index": 0})"),
       "task.type: \"Worker\" is not a job; write chief, worker, ps or evaluator; did you mean "
       "worker?"},
      {with(R"({"type": "", "index": 0})"), "task.type: \"\" is not a job"},
      {with(R"({"type": 1, "index": 0})"), "task.type: 1 is not text"},
      {with(R"({"type": null, "index": 0})"), "task.type: null is not text"},
      {with(R"({"type": "master", "index": 0})"),
       "task.type: \"master\" is a job without tasks in this cluster; write \"chief\""},
      {with(R"({"type": "worker"})"), "task.index: is missing"},
      {with(R"({"type": "worker", "index": null})"), "task.index: null is not an index"},
      {with(R"({"type": "worker", "index": true})"), "task.index: true is not an index"},
      {with(R"({"type": "worker", "index": -1})"), "task.index: -1 is not an index"},
      {with(R"({"type": "worker", "index": "-1"})"), "task.index: \"-1\" is not an index"},
      {with(R"({"type": "worker", "index": 0.5})"), "task.index: 0.5 is not an index"},
      {with(R"({"type": "worker", "index": "one"})"), "task.index: \"one\" is not an index"},
      {with(R"({"type": "worker", "index": ""})"), "task.index: \"\" is not an index"},
      {with(R"({"type": "worker", "index": 18446744073709551615})"),
       "task.index: 18446744073709551615 is not an index"},
      {with(R"({"type": "worker", "index": 3})"),
       "task.index: 3 is not a task of worker; the cluster lists 0, 1, 2"},
      {with(R"({"type": "chief", "index": 1})"), "task.index: 1 is not a task of chief"},
      {with(R"({"type": "evaluator", "index": -1})"), "task.index: -1 is not an index"},
      {Config(R"({"ps": ["p:1"], "worker": ["w:1"]})", R"({"type": "chief", "index": 0})"),
       "task.type: \"chief\" is a job without tasks in this cluster; the lowest worker's process"},
      {Config(R"({"ps": ["p:1"], "chief": ["c:1"]})", kWorker0),
       "task.type: \"worker\" is a job without tasks in this cluster; the chief's process"},
      {Config(R"({"ps": ["p:1"], "master": ["c:1"], "worker": ["w:1"]})",
              R"({"type": "chief", "index": 0})"),
       "task.type: \"chief\" is a job without tasks in this cluster; write \"master\""},
      {Config(R"({"ps": ["p:1"], "master": ["c:1"], "worker": ["w:1"]})",
              R"({"type": "evaluator", "index": 0})"),
       "task.type: \"evaluator\" cannot stand beside master"},
      {R"({"task": {"type": "ps", "index": 0}})", "task.type: \"ps\" needs a cluster"},
      {R"({"cluster": {}, "task": {"type": "chief"}})", "task.type: \"chief\" needs a cluster"},
      {R"({"task": {"type": "Worker"}})", "task.type: \"Worker\" needs a cluster"},
      {R"({"task": {"index": 1}})", "task.index: 1 needs a cluster"},
      {R"({"task": "worker"})", "task: \"worker\" is not an object"},
  });
}

TEST(TfConfigTest, RefusesOtherMistakes) {
  ExpectEach({
      {R"({"model_dir": ""})", "model_dir: is empty"},
      {R"({"model_dir": 3})", "model_dir: 3 is not text"},
      {R"({"model_dir": "gs://bucket/m"})", "model_dir: \"gs://bucket/m\" is not a directory"},
      {R"({"Cluster": {}})", "Cluster: is no key of TF_CONFIG; write cluster"},
      {R"({"tasks": {}})", "tasks: is no key of TF_CONFIG; write task"},
  });
}

TEST(TfConfigTest, ReportsAllMistakesAtOnce) {
  const std::string message = MessageFor(R"({
    "cluster": {"chief": ["c:1", "d:1"], "ps": ["p:0", "q"], "worker": ["c:1", 5], "boss": ["b:1"]},
    "task": {"type": "Ps", "index": "x", "index": "y"}, "model_dir": ""})");
  EXPECT_THAT(message, HasSubstr("TF_CONFIG: 10 mistakes"));
  for (const char* key :
       {"task.index: stands twice", "task.type: \"Ps\"", "task.index: \"y\"",
        "cluster.boss: ", "cluster.ps[0]: ", "cluster.ps[1]: ", "cluster.worker[1]: 5",
        "cluster.chief: has 2", "cluster.worker[0]: \"c:1\"", "model_dir: "})
    EXPECT_THAT(message, HasSubstr(std::string("\n  ") + key));
}

TEST(TfConfigTest, AWrongAddressIsNotAlsoAMissingTask) {
  const std::string message =
      MessageFor(Config(R"({"chief": ["c:1"], "ps": ["p"], "worker": ["w:1"]})", kPs0));
  EXPECT_THAT(message, AllOf(HasSubstr("cluster.ps[0]: "), HasSubstr("1 mistake\n")));
}

TEST(TfConfigTest, BoundsTheNumberOfTasks) {
  std::string list = "[";
  for (int i = 0; i <= kMaxTaskIndex + 1; ++i) list += "\"p:1\",";
  list.back() = ']';
  const std::string message =
      MessageFor(Config(R"({"chief": ["c:1"], "worker": ["w:1"], "ps": )" + list + "}", kWorker0));
  EXPECT_THAT(message, HasSubstr("cluster.ps: has 65536 tasks"));
}

Environment With(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(LoadTfConfigTest, PrefersTheFile) {
  const std::string path = testing::TempDir() + "/tf_config_test.json";
  std::ofstream(path) << Config(kTutorial, kWorker0);
  const absl::StatusOr<TfConfig> config = LoadTfConfig(path, With({{"TF_CONFIG", "broken"}}));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->cluster.has_value());
}

TEST(LoadTfConfigTest, UnsetIsLocalAndEmptyIsAMistake) {
  const absl::StatusOr<TfConfig> unset = LoadTfConfig("", With({}));
  ASSERT_TRUE(unset.ok());
  EXPECT_FALSE(unset->cluster.has_value());
  EXPECT_FALSE(LoadTfConfig("", With({{"TF_CONFIG", ""}})).ok());
}

TEST(LoadTfConfigTest, SaysWhyAFileCannotBeRead) {
  const absl::Status missing = LoadTfConfig("/no/such/file", With({})).status();
  EXPECT_EQ(ExitCodeOf(missing), ExitCode::kBadUsage);
  EXPECT_THAT(std::string(missing.message()),
              AllOf(HasSubstr("--tf-config: \"/no/such/file\""), HasSubstr("No such file")));
  EXPECT_THAT(std::string(LoadTfConfig("/tmp", With({})).status().message()),
              HasSubstr("directory"));
  EXPECT_THAT(std::string(LoadTfConfig("/dev/zero", With({})).status().message()),
              HasSubstr("larger than"));
}

}  // namespace
}  // namespace weir
