#include "doctor/ucx_checks.h"

#include <vector>

#include "tests/unit/doctor/expect_check.h"

namespace weir::doctor {
namespace {

UcxView Usual() {
  return {.version = "1.13.1",
          .resources = {{"tcp", "eth0", true}, {"tcp", "lo", true}, {"posix", "memory", false}},
          .memory_types = {"host"}};
}

UcxView WithRdma() {
  UcxView view = Usual();
  view.resources.push_back({"rc_mlx5", "mlx5_0:1", true});
  return view;
}

TEST(UcxTest, Version) {
  ExpectCheck(CheckUcx(Usual(), "1.13"), Verdict::kOk,
              "1.13.1, built with 1.13; memory types: host");
  UcxView view = Usual();
  view.version = "1.22.0";
  ExpectCheck(CheckUcx(view, "1.13"), Verdict::kOk, "1.22.0");
  view.version = "1.9.0";
  ExpectCheck(CheckUcx(view, "1.13"), Verdict::kFail, "older than its headers");
  view.version = "what";
  ExpectCheck(CheckUcx(view, "1.13"), Verdict::kFail, "what");
}

TEST(UcxTest, AContextThatDoesNotStart) {
  UcxView view = Usual();
  view.problem = "No such device";
  ExpectCheck(CheckUcx(view, "1.13"), Verdict::kFail, "it does not start: No such device");
}

TEST(UcxTransportsTest, WhatIsThere) {
  ExpectCheck(CheckUcxTransports(Usual(), false), Verdict::kOk, "posix, tcp (eth0, lo)");
  ExpectCheck(CheckUcxTransports(WithRdma(), true), Verdict::kOk, "rc_mlx5 (mlx5_0:1)");
}

TEST(UcxTransportsTest, WhatIsMissing) {
  ExpectCheck(CheckUcxTransports(Usual(), true), Verdict::kWarn, "no RDMA");
  UcxView view = Usual();
  view.resources.pop_back();
  ExpectCheck(CheckUcxTransports(view, false), Verdict::kWarn, "no shared memory");
  view.resources.clear();
  ExpectCheck(CheckUcxTransports(view, false), Verdict::kFail, "none: no tcp");
}

class UcxVariablesTest : public testing::Test {
 protected:
  static Check Judged(std::vector<std::string> variables) {
    return CheckUcxVariables(WithRdma(), variables);
  }
};

TEST_F(UcxVariablesTest, Harmless) {
  ExpectCheck(Judged({"PATH=/bin", "MY_UCX_TLS=x"}), Verdict::kOk, "none set");
  ExpectCheck(Judged({"UCX_LOG_LEVEL=info", "HOME=/"}), Verdict::kOk, "UCX_LOG_LEVEL=info");
}

TEST_F(UcxVariablesTest, ThoseThatReplaceAChoice) {
  const Check check = Judged({"UCX_TLS=tcp", "UCX_LOG_LEVEL=info"});
  ExpectCheck(check, Verdict::kWarn, "UCX_LOG_LEVEL=info UCX_TLS=tcp");
  EXPECT_THAT(check.fix, testing::EndsWith("unset UCX_TLS"));
}

TEST_F(UcxVariablesTest, Devices) {
  ExpectCheck(Judged({"UCX_NET_DEVICES=eth0,mlx5_0"}), Verdict::kWarn, "eth0,mlx5_0");
  ExpectCheck(Judged({"UCX_NET_DEVICES=mlx5_0:1"}), Verdict::kWarn, "mlx5_0:1");
  ExpectCheck(Judged({"UCX_NET_DEVICES=^eth7"}), Verdict::kWarn, "^eth7");
  ExpectCheck(Judged({"UCX_NET_DEVICES=eth0, eth7"}), Verdict::kFail, "no device eth7");
  ExpectCheck(Judged({"UCX_NET_DEVICES=mlx5"}), Verdict::kFail, "no device mlx5");
}

TEST_F(UcxVariablesTest, ValuesAreFitForATerminal) {
  ExpectCheck(Judged({"UCX_LOG_FILE=\x1b[2J"}), Verdict::kOk, "UCX_LOG_FILE=\\");
}

// The library itself, whatever this host has.
TEST(UcxViewTest, ThisHost) {
  const UcxView view = LookAtUcx();
  EXPECT_EQ(view.problem, "");
  EXPECT_THAT(view.memory_types, testing::Contains("host"));
  ExpectCheck(CheckUcx(view, UcxBuiltWith()), Verdict::kOk, view.version);
  EXPECT_THAT(view.resources, testing::Contains(testing::Field(&UcxResource::transport, "tcp")));
}

}  // namespace
}  // namespace weir::doctor
