#include "bench/data/plot.h"

#include <regex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

DataRow Row(const char* op, std::uint64_t size, std::uint64_t nanoseconds) {
  const Samples samples{.nanoseconds = {nanoseconds}};
  return RowOf(op, size, 1, 1, std::span(&samples, 1));
}

TEST(PlotTest, EachOpHasALineInBothPanelsAndTheControlsAreDashed) {
  const std::vector<DataRow> rows = {Row("push", 8, 2000), Row("control_am", 8, 1000),
                                     Row("push", 1 << 20, 200'000),
                                     Row("control_am", 1 << 20, 100'000)};
  const std::string svg = PlotSvg({}, {.path = "message (ucx <x> & y)"}, rows);
  EXPECT_EQ(Count(svg, "<polyline"), 4U);
  EXPECT_EQ(Count(svg, "stroke-dasharray"), 2U);
  EXPECT_EQ(Count(svg, "<circle"), 8U);
  EXPECT_THAT(svg, HasSubstr("message (ucx &lt;x&gt; &amp; y)"));
  EXPECT_THAT(svg, HasSubstr(">1m</text>"));
}

TEST(PlotTest, MoreTimeStandsHigherAndMoreBytesFurtherRight) {
  const std::vector<DataRow> rows = {Row("push", 8, 2000), Row("push", 1024, 50'000)};
  const std::string svg = PlotSvg({}, {}, rows);
  std::smatch points;
  ASSERT_TRUE(std::regex_search(svg, points,
                                std::regex("points=\"([\\d.]+),([\\d.]+) ([\\d.]+),([\\d.]+) \"")));
  EXPECT_LT(std::stod(points[1]), std::stod(points[3]));
  EXPECT_GT(std::stod(points[2]), std::stod(points[4])) << "y grows downwards";
}

TEST(PlotTest, OneRowNoRowAndNoTimeAreDrawnToo) {
  for (const auto& rows : {std::vector<DataRow>{}, std::vector{Row("push", 8, 1000)},
                           std::vector{Row("push", 8, 0)}}) {
    const std::string svg = PlotSvg({}, {}, rows);
    EXPECT_THAT(svg, HasSubstr("</svg>\n"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

}  // namespace
}  // namespace weir::bench
