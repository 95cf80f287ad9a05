#include "bench/data/plot.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "bench/common/sizes_flag.h"

namespace weir::bench {
namespace {

// In pixels.
constexpr double kWidth = 460, kHeight = 320, kLeft = 70, kTop = 60, kGap = 100, kBottom = 50;
constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#7f7f7f", "#bcbd22", "#2ca02c"};

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

/// A logarithmic axis from `least` to `most`, both above 0, over `pixels` from `start`.
struct Axis {
  double least, most, start, pixels;
  double At(double value) const {
    const double span = std::log(most) - std::log(least);
    // One size alone, or one value, stands in the middle.
    if (span <= 0) return start + pixels / 2;
    return start + pixels * (std::log(value) - std::log(least)) / span;
  }
};

using Value = double (*)(const DataRow&);

/// Powers of ten around what the rows have, so that the labels are round.
Axis AxisOf(std::span<const DataRow> rows, Value value, double start, double pixels) {
  double least = HUGE_VAL, most = 0;
  for (const DataRow& row : rows) {
    if (value(row) <= 0) continue;
    least = std::min(least, value(row));
    most = std::max(most, value(row));
  }
  if (most == 0) least = most = 1;
  return {std::pow(10, std::floor(std::log10(least))), std::pow(10, std::ceil(std::log10(most))),
          start, pixels};
}

std::vector<std::string> OpsOf(std::span<const DataRow> rows) {
  std::vector<std::string> ops;
  for (const DataRow& row : rows) {
    if (std::ranges::find(ops, row.op) == ops.end()) ops.push_back(row.op);
  }
  return ops;
}

std::string Label(double x, double y, const char* anchor, const std::string& text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                         Escaped(text));
}

std::string Line(double x1, double y1, double x2, double y2) {
  return absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n",
                         x1, y1, x2, y2);
}

/// The line of one op, and a dot for each row.
std::string Series(std::span<const DataRow> rows, const std::string& op, const char* colour,
                   const Axis& x, const Axis& y, Value value) {
  std::string points, dots;
  for (const DataRow& row : rows) {
    if (row.op != op || value(row) <= 0) continue;
    const double at_x = x.At(static_cast<double>(row.size_bytes)), at_y = y.At(value(row));
    absl::StrAppendFormat(&points, "%.1f,%.1f ", at_x, at_y);
    absl::StrAppendFormat(&dots, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", at_x,
                          at_y, colour);
  }
  const bool control = absl::StartsWith(op, "control");
  return absl::StrCat("<polyline points=\"", points, "\" fill=\"none\" stroke=\"", colour,
                      "\" stroke-width=\"2\"", control ? " stroke-dasharray=\"6 4\"" : "", "/>\n",
                      dots);
}

std::string Panel(std::span<const DataRow> rows, double left, const std::string& title,
                  Value value) {
  const auto [least, most] =
      std::ranges::minmax(rows, {}, [](const DataRow& row) { return row.size_bytes; });
  const Axis x{static_cast<double>(least.size_bytes), static_cast<double>(most.size_bytes), left,
               kWidth};
  // Upwards.
  const Axis y = AxisOf(rows, value, kTop + kHeight, -kHeight);
  std::string text = Label(left, kTop - 12, "start", title);
  for (double tick = y.least; tick <= y.most * 1.001; tick *= 10) {
    absl::StrAppend(&text, Line(left, y.At(tick), left + kWidth, y.At(tick)),
                    Label(left - 6, y.At(tick) + 4, "end", absl::StrFormat("%g", tick)));
  }
  std::vector<std::uint64_t> sizes;
  for (const DataRow& row : rows) sizes.push_back(row.size_bytes);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  for (const std::uint64_t size : sizes) {
    const double at = x.At(static_cast<double>(size));
    absl::StrAppend(&text, Line(at, kTop, at, kTop + kHeight),
                    Label(at, kTop + kHeight + 18, "middle", SizeText(size)));
  }
  const std::vector<std::string> ops = OpsOf(rows);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    absl::StrAppend(
        &text, Series(rows, ops[i], colour, x, y, value),
        absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">%s</text>\n", left + 10,
                        kTop + 18 + 16 * static_cast<double>(i), colour, Escaped(ops[i])));
  }
  return text;
}

}  // namespace

std::string PlotSvg(const DataBenchOptions& options, const RunContext& context,
                    std::span<const DataRow> rows) {
  const double width = 2 * (kLeft + kWidth) + kGap, height = kTop + kHeight + kBottom;
  std::string text = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<style>.grid { stroke: #ddd; }</style>\n<rect width=\"100%%\" height=\"100%%\" "
      "fill=\"white\"/>\n",
      width, height);
  absl::StrAppend(&text, Label(kLeft, 22, "start",
                               absl::StrFormat("weir bench %s | %s | ps %d, workers %d, window %d",
                                               NameOf(options.bench), context.path, options.ps,
                                               options.workers, options.window)));
  if (!rows.empty()) {
    absl::StrAppend(&text,
                    Panel(rows, kLeft, "median time in microseconds, by bytes of a tensor",
                          [](const DataRow& row) { return row.time.p50_us; }),
                    Panel(rows, kLeft + kWidth + kGap, "10^9 bytes a second",
                          [](const DataRow& row) { return row.gbytes_per_s; }));
  }
  return absl::StrCat(text, "</svg>\n");
}

}  // namespace weir::bench
