#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "bench/common/samples.h"
#include "weir/exit_code.h"

namespace weir::bench {

/// One operation at one size.
struct DataRow {
  std::string op;  ///< "push", "pull", "control_am", "control_eager", "control_get"
  std::uint64_t size_bytes = 0;
  int window = 1;                    ///< operations of this size that each time is of
  Distribution time;                 ///< of a window: of all workers' samples of all rounds
  std::vector<double> round_p50_us;  ///< of each round
  double gbytes_per_s = 0;           ///< 10^9 bytes of payload, all workers together
  double ops_per_s = 0;              ///< all workers together
  std::uint64_t wrong = 0;           ///< elements that had not the value they must have
  std::string control;               ///< the op of the control that the ratios are to; empty: none
  double ratio = 0;  ///< the median of the rounds' ratios, each its p50 to that control's
  double ratio_least = 0, ratio_most = 0;  ///< of a round

  double p50_us() const { return time.p50_us; }
};

/// The row that `rounds`, each of all `workers`, make.
DataRow RowOf(std::string op, std::uint64_t size, int window, int workers,
              std::span<const Samples> rounds);

/// Says in `row` how its time compares with that of `control`, a row of the same size, window and
/// number of rounds, of which each was measured right after that of `row`.
void Compare(const DataRow& control, DataRow& row);

/// The comment that names the columns, of rows with ratios or without.
std::string ColumnsLine(bool ratios);
std::string RowLine(const DataRow& row);
/// The last line, which says whether any value was wrong, and what the program then ends with.
std::string ResultLine(std::span<const DataRow> rows);
ExitCode VerdictOn(std::span<const DataRow> rows);

/// `report` with the rows as its last key, as text.
std::string WithRows(nlohmann::ordered_json report, std::span<const DataRow> rows);

}  // namespace weir::bench
