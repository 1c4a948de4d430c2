// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/report/scaling/scaling_points.hpp"

namespace underlap::report {

/// How the work of a step grows with the ranks.
enum class Scaling : std::uint8_t {
  weak,    ///< as many sequences a rank at every size
  strong,  ///< as many sequences a step at every size
  mixed,   ///< neither, or not known from the plans
};

/// "weak", "strong", "mixed".
std::string_view to_string(Scaling);
constexpr Scaling last_value(Scaling) { return Scaling::mixed; }

/// A point compared with the other points of its cell. "Smallest" is the smallest size of the same kind, measured or
/// modelled: the two are never mixed.
struct ScaledPoint {
  ScalingPoint point;
  std::optional<double> step_to_smallest = {};  ///< step / step of the smallest size; absent for that itself
  /// Sequences a second and rank, divided by those of the smallest size: 1 is perfect scaling, weak or strong
  std::optional<double> efficiency = {};
  std::optional<double> step_to_model = {};  ///< of measured points: step / modelled step of the same size
};

/// One cell at all of its sizes, rising; at one size measured before modelled.
struct ScaledCell {
  std::string name;
  Scaling scaling = Scaling::mixed;
  std::vector<ScaledPoint> points;
};

/// Something else than the size that one point has otherwise than the smallest of its kind, and that refuses nothing:
/// a version, a machine, what a rule decided.
struct ScalingDifference {
  std::string what;
  std::string smallest_run;
  std::string smallest;
  std::string run;
  std::string other;
  friend bool operator==(const ScalingDifference&, const ScalingDifference&) = default;
};

struct ScalingReport {
  std::string forced;  ///< why the points are not comparable, where that was asked to be passed over
  std::vector<std::string> notes;
  std::vector<ScalingDifference> differences;
  std::vector<ScaledCell> cells;
};

/// Compares cells of one name at several sizes. The report includes `notes`, and notes on cells that have only one
/// size.
///
/// Throws std::invalid_argument if no cell has two sizes, or if one size of a cell was measured, or modelled, twice.
/// Throws NotComparable, unless `is_forced`, if the cells differ in a requested setting other than their size: the
/// message names the knob, both runs and both values.
ScalingReport scaling_of(std::vector<ScalingPoint> points, std::vector<std::string> notes, bool is_forced);

}  // namespace underlap::report
