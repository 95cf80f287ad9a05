#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/checkpoint/text_table.h"
#include "common/checkpoint/tool/diff.h"

namespace weir {
namespace {

using nlohmann::json;
using Kind = TensorDifference::Kind;

std::string TypeText(const SourceTensor& tensor) {
  return absl::StrCat(tensor.dtype, " ", ShapeText(tensor.shape));
}

std::string DistanceText(const Distance& d) {
  std::string text = absl::StrFormat("%d of %d elements differ, max abs %.6g, L2 %.6g", d.different,
                                     d.elements, d.max_abs, d.l2);
  if (d.relative.has_value()) absl::StrAppendFormat(&text, " (relative %.3g)", *d.relative);
  if (d.no_distance > 0) {
    absl::StrAppend(&text, ", ", d.no_distance, " with NaN or infinity left out");
  }
  return text;
}

std::string What(const TensorDifference& difference) {
  switch (difference.kind) {
    case Kind::kOnlyInA:
      return absl::StrCat("only in A: ", TypeText(*difference.a));
    case Kind::kOnlyInB:
      return absl::StrCat("only in B: ", TypeText(*difference.b));
    case Kind::kType:
      return absl::StrCat(TypeText(*difference.a), " in A, ", TypeText(*difference.b), " in B");
    case Kind::kValues:
      break;
  }
  return difference.distance.has_value() ? DistanceText(*difference.distance)
                                         : absl::StrCat(TypeText(*difference.a), ": other values");
}

std::string AsText(const Comparison& comparison) {
  std::vector<std::vector<std::string>> rows;
  for (const TensorDifference& difference : comparison.differences) {
    rows.push_back({absl::Utf8SafeCHexEscape(difference.tensor), What(difference)});
  }
  const std::size_t differing = rows.size();
  return absl::StrCat(TextTable(rows, 0), differing == 0 ? "equal: " : "", comparison.equal,
                      comparison.equal == 1 ? " tensor" : " tensors", " equal bit for bit",
                      differing == 0 ? "" : absl::StrCat(", ", differing, " not"), "\n");
}

json KindJson(Kind kind) {
  switch (kind) {
    case Kind::kOnlyInA:
      return "only_in_a";
    case Kind::kOnlyInB:
      return "only_in_b";
    case Kind::kType:
      return "type";
    case Kind::kValues:
      break;
  }
  return "values";
}

json SideJson(const std::optional<SourceTensor>& tensor) {
  if (!tensor.has_value()) return nullptr;
  return {{"dtype", tensor->dtype}, {"shape", tensor->shape}};
}

json DifferenceJson(const TensorDifference& difference) {
  json row = {{"tensor", difference.tensor},
              {"kind", KindJson(difference.kind)},
              {"a", SideJson(difference.a)},
              {"b", SideJson(difference.b)}};
  if (const auto& d = difference.distance; d.has_value()) {
    row.update({{"elements", d->elements},
                {"different", d->different},
                {"no_distance", d->no_distance},
                {"max_abs", d->max_abs},
                {"l2", d->l2},
                {"relative", d->relative.has_value() ? json(*d->relative) : json(nullptr)}});
  }
  return row;
}

json AsJson(const Comparison& comparison) {
  json differences = json::array();
  for (const TensorDifference& difference : comparison.differences) {
    differences.push_back(DifferenceJson(difference));
  }
  return {{"equal", comparison.differences.empty()},
          {"equal_tensors", comparison.equal},
          {"differences", std::move(differences)}};
}

}  // namespace

Report ReportOn(const Comparison& comparison, ReportFormat format) {
  return {format == ReportFormat::kJson ? JsonReport(AsJson(comparison)) : AsText(comparison), {}};
}

}  // namespace weir
