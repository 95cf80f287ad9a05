#include "jobs/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jobs/registry.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string MistakesOf(const std::string& text) {
  const auto job = ParseJobFile(text, "job.json");
  EXPECT_FALSE(job.ok());
  EXPECT_EQ(ExitCodeOf(job.status()), ExitCode::kBadUsage);
  return std::string(job.status().message());
}

TEST(JobFile, GivesAJobOfTensorsAlone) {
  const auto job = ParseJobFile(R"({"name": "line", "max_steps": 7, "tensors": [
      {"name": "w", "shape": [3, 2], "initializer": "glorot_uniform"},
      {"name": "b", "shape": [], "initializer": "zeros"}, {"name": "c", "shape": [0]}]})",
                                "job.json");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)->name(), "line");
  EXPECT_EQ((*job)->default_max_steps(), 7U);
  const std::vector<TensorSpec> tensors = (*job)->tensors();
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].name, "w");
  EXPECT_THAT(tensors[0].shape, ElementsAre(3, 2));
  EXPECT_EQ(tensors[0].initializer, Initializer::kGlorotUniform);
  EXPECT_EQ(tensors[1].elements(), 1);
  EXPECT_EQ(tensors[2].initializer, Initializer::kZeros);
  const absl::Status trained = (*job)->CreateModel(1).status();
  EXPECT_EQ(ExitCodeOf(trained), ExitCode::kBadUsage);
  EXPECT_THAT(std::string(trained.message()), HasSubstr("weir::Client"));
}

TEST(JobFile, EveryMistakeIsToldAtOnce) {
  const std::string text = MistakesOf(R"({"nam": "line", "max_steps": 0, "tensors": [
      {"name": "w", "shape": [3, -1], "initialiser": "zeros"},
      {"shape": 4, "name": ""}, 5, {"name": "v", "shape": [1], "initializer": "ones"}]})");
  EXPECT_THAT(text, AllOf(HasSubstr("job.json: has no \"name\""),
                          HasSubstr("nam: is no key of a job file; did you mean name?"),
                          HasSubstr("max_steps: 0 is no whole number from 1"),
                          HasSubstr("tensors[0].shape[1]: -1 is no"),
                          HasSubstr("tensors[0].initialiser: is no key of a job file; did you mean "
                                    "initializer?")));
  EXPECT_THAT(text, AllOf(HasSubstr("tensors[1].shape: 4 is no list"),
                          HasSubstr("tensors[1].name: \"\" is no name"),
                          HasSubstr("tensors[2]: 5 is not an object"),
                          HasSubstr("tensors[3].initializer: \"ones\" is no initializer")));
}

TEST(JobFile, WhatIsNoJobAtAll) {
  EXPECT_THAT(MistakesOf("[]"), HasSubstr("job.json: [] is not an object"));
  EXPECT_THAT(MistakesOf(R"({"name": "a", "max_steps": 1, "tensors": []})"),
              HasSubstr("write at least one"));
  EXPECT_THAT(MistakesOf(R"({"name": "a", "name": "b", "max_steps": 1,
                             "tensors": [{"name": "w", "shape": []}]})"),
              HasSubstr("stands twice"));
  EXPECT_THAT(MistakesOf("{"), HasSubstr("job.json"));
}

TEST(JobFile, TensorsAreJudgedTogether) {
  EXPECT_THAT(MistakesOf(R"({"name": "a", "max_steps": 1, "tensors": [
                             {"name": "w", "shape": []}, {"name": "w", "shape": []}]})"),
              HasSubstr("job.json: tensors: "));
  EXPECT_THAT(MistakesOf(R"({"name": "a", "max_steps": 1, "tensors": [
                             {"name": "w", "shape": [9007199254740992, 4096]}]})"),
              HasSubstr("'w'"));
}

TEST(Registry, ANameWithASlashOrJsonAtItsEndIsAFile) {
  EXPECT_FALSE(CreateJob("fashion-mnist")->tensors_only);
  EXPECT_THAT(std::string(CreateJob("missing.json").status().message()),
              HasSubstr("\"missing.json\" cannot be read"));
  EXPECT_THAT(std::string(CreateJob("./job").status().message()), HasSubstr("cannot be read"));
  EXPECT_THAT(std::string(CreateJob("fashion").status().message()),
              HasSubstr("no job 'fashion'; this program has fashion-mnist"));
}

}  // namespace
}  // namespace weir
