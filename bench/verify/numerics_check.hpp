// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// Result of comparing the computed losses of one cell.
struct CellNumerics {
  report::NumericsLabel label = report::NumericsLabel::not_checked;
  std::string reference;                 ///< name of the cell that it is compared with; empty: it was not checked
  double max_loss_difference = 0;        ///< relative
  std::int32_t steps = 0;                ///< compared
  std::vector<std::string> shrunk = {};  ///< "num_layers 32 -> 2": how the cell was made small enough
};

/// The same for one value of an axis: the worst label of the cells that differ from their reference in this axis alone.
struct AxisNumerics {
  std::string axis;
  std::string value;
  report::NumericsLabel label = report::NumericsLabel::not_checked;
  double max_loss_difference = 0;
};

struct NumericsCheck {
  std::vector<CellNumerics> cells;      ///< in the order of the matrix
  std::vector<AxisNumerics> axes;       ///< in the order of the cells that first show them
  std::vector<std::string> mismatches;  ///< one line for each cell whose losses are wrong
};

/// Runs `steps` training steps of every cell in virtual time, values included, and labels their losses as
/// label_numerics does. Cells that are too large are shrunk (bench/verify/shrunk_cells.hpp). Nothing depends on
/// durations, so the configuration's link and machine do not matter. Cells without transfers and cells whose `is_sound`
/// is false are not checked. Throws std::invalid_argument if train.data cannot be read, MachineError naming the cell if
/// its simulation fails.
NumericsCheck check_numerics(const std::vector<plan::Cell>& cells, const std::vector<bool>& is_sound,
                             std::int32_t steps);

}  // namespace underlap::bench
