#include "doctor/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/exit_code.h"

namespace weir::doctor {
namespace {

absl::StatusOr<DoctorOptions> Parsed(std::vector<std::string> arguments) {
  return ParseDoctor(arguments);
}

TEST(DoctorOptionsTest, Flags) {
  const auto options = Parsed({"--json", "--tf-config", "cluster.json"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->json);
  EXPECT_EQ(options->tf_config_file, "cluster.json");
  EXPECT_FALSE(Parsed({})->json);
  EXPECT_TRUE(Parsed({"--jsn", "--help"})->help_requested);
}

TEST(DoctorOptionsTest, AllMistakesAtOnce) {
  const absl::Status status = Parsed({"here", "--jsn", "--tf-config="}).status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(testing::HasSubstr("--json"), testing::HasSubstr("here"),
                             testing::HasSubstr("--tf-config"), testing::HasSubstr("3 mistakes")));
}

TEST(DoctorOptionsTest, AClusterThatCannotBeRead) {
  const auto config = ClusterOf({.tf_config_file = "/no/such"},
                                [](const std::string&) { return std::optional<std::string>(); });
  EXPECT_EQ(ExitCodeOf(config.status()), ExitCode::kBadUsage);
  EXPECT_THAT(std::string(config.status().message()), testing::HasSubstr("weir doctor"));
}

}  // namespace
}  // namespace weir::doctor
