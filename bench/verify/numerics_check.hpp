// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// What the losses of one cell say, found by computing them.
struct CellNumerics {
  report::NumericsLabel label = report::NumericsLabel::not_checked;
  std::string reference;                 ///< name of the cell that it is held against; empty: it was not checked
  double max_loss_difference = 0;        ///< relative
  std::int32_t steps = 0;                ///< compared
  std::vector<std::string> shrunk = {};  ///< "num_layers 32 -> 2": how the cell was made small enough
};

/// The same of one value of an axis: the worst of the cells that differ from their reference in this axis alone.
struct AxisNumerics {
  std::string axis;
  std::string value;
  report::NumericsLabel label = report::NumericsLabel::not_checked;
  double max_loss_difference = 0;
};

struct NumericsCheck {
  std::vector<CellNumerics> cells;      ///< in the order of the matrix
  std::vector<AxisNumerics> axes;       ///< in the order of the cells that first show them
  std::vector<std::string> mismatches;  ///< a line for each cell whose losses are not what they must be
};

/// Runs `steps` training steps of every cell in virtual time, values included, and labels their losses as
/// label_numerics does. Cells too large for that are shrunk (bench/verify/shrunk_cells.hpp); nothing depends on how
/// long things take, so a link and a machine of the configuration play no part. Cells without transfers are not
/// checked, nor those of which `is_sound` is false. Throws std::invalid_argument where train.data cannot be read,
/// MachineError naming the cell where it cannot be played to its end.
NumericsCheck check_numerics(const std::vector<plan::Cell>& cells, const std::vector<bool>& is_sound,
                             std::int32_t steps);

}  // namespace underlap::bench
