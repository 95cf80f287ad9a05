#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "cli/status_arguments.h"
#include "cli/status_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/exit_code.h"

namespace weir::cli {
namespace {

using testing::HasSubstr;

std::optional<std::string> NoVariables(const std::string&) { return std::nullopt; }

TEST(ParseStatusTest, WatchesEverySecondUnlessToldOtherwise) {
  const auto watch = [](std::vector<std::string> arguments) {
    arguments.push_back("--chief=h:1");
    const auto parsed = ParseStatus(arguments, NoVariables);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return parsed.ok() ? parsed->watch : std::nullopt;
  };
  EXPECT_EQ(watch({}), std::nullopt);
  EXPECT_EQ(watch({"--watch"}), absl::Seconds(1));
  EXPECT_EQ(watch({"--watch", "--json"}), absl::Seconds(1));
  EXPECT_EQ(watch({"--watch", "2.5"}), absl::Seconds(2.5));
  EXPECT_EQ(watch({"--watch=60"}), absl::Seconds(60));
}

TEST(ParseStatusTest, TellsEveryMistake) {
  const std::vector<std::string> arguments = {"--watch", "0", "--jsn", "x"};
  const absl::Status status = ParseStatus(arguments, NoVariables).status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("--watch: 0 is not in 0.1..3600 seconds"));
  EXPECT_THAT(message, HasSubstr("--jsn: is no flag; did you mean --json?"));
  EXPECT_THAT(message, HasSubstr("--chief: is missing; write --chief HOST:PORT"));
}

wire::StatusReplyT Sample() {
  wire::StatusReplyT status;
  status.job = "j\x1b[2J";
  status.mode = "async";
  status.phase = "training";
  status.global_step = 400;
  status.max_steps = 14000;
  status.eta_seconds = 142;
  status.rdma = wire::RdmaUse::Unused;
  status.no_rdma = "ps 0 (host a): no port\x1b";
  status.paths = {"worker 0 -> ps 0: message (x), not mapped: another host: b\x1b",
                  "worker 10 -> ps 0: mapped"};
  auto worker = std::make_unique<wire::MemberStatusT>();
  worker->member = std::make_unique<wire::MemberT>();
  worker->member->role = wire::Role::Worker;
  worker->member->address = "h:1\xff";
  worker->member->state = "joined";
  worker->last_step = 399;
  status.members.push_back(std::move(worker));
  status.members.push_back(nullptr);
  return status;
}

TEST(StatusViewTest, TheTableIsFitForATerminal) {
  const std::string table = StatusTable(Sample());
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_THAT(table, HasSubstr("step 400 of 14000"));
  EXPECT_THAT(table, HasSubstr("ETA 2m22s"));
  EXPECT_THAT(table, HasSubstr("worker         0  joined"));
  EXPECT_THAT(table,
              HasSubstr("\n  from -> to         path\n"
                        "  worker 0 -> ps 0   message (x), not mapped: another host: b\\033\n"
                        "  worker 10 -> ps 0  mapped\n"
                        "  no RDMA: ps 0 (host a): no port\\033\n"));
}

TEST(StatusViewTest, OneLineOfJsonForEachLook) {
  wire::StatusReplyT status = Sample();
  const std::string line = StatusJson(status, JsonLayout::kOneLine);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(nlohmann::json::parse(line)["eta_seconds"], 142);
  EXPECT_EQ(nlohmann::json::parse(line)["rdma"]["used"], false);
  EXPECT_EQ(nlohmann::json::parse(line)["rdma"]["why_not"], "ps 0 (host a): no port\x1b");
  status.eta_seconds = -1;
  status.rdma = wire::RdmaUse::Undecided;
  status.no_rdma.clear();
  const auto parsed = nlohmann::json::parse(StatusJson(status, JsonLayout::kIndented));
  EXPECT_TRUE(parsed["eta_seconds"].is_null());
  EXPECT_TRUE(parsed["rdma"]["used"].is_null());
  EXPECT_TRUE(parsed["rdma"]["why_not"].is_null());
  EXPECT_EQ(parsed["members"].size(), 1U);
  EXPECT_EQ(parsed["members"][0]["address"], "h:1\uFFFD");
}

}  // namespace
}  // namespace weir::cli
