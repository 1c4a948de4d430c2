// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/numerics_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/ranks/sim_session.hpp"
#include "bench/verify/numerics_labels.hpp"
#include "bench/verify/shrunk_cells.hpp"
#include "platform/errors.hpp"
#include "profiler/report/samples.hpp"

namespace underlap::bench {
namespace {

using report::CellResult;
using report::NumericsLabel;

constexpr double kMostFlop = 4e10;             // for a matrix: a few seconds of one core
constexpr const char* kHardware = "h100-sxm";  // values do not depend on the hardware

plan::Cell playable(const plan::Cell& cell, const plan::Config& shrunk) {
  plan::Cell played{.name = cell.name, .values = cell.values, .plan = {}};
  played.plan.config = shrunk;
  plan::RunConfig& run = played.plan.config.run;
  run.backend = Backend::sim;
  run.numerics = true;
  run.trace = false;
  run.hardware = kHardware;
  run.gpus_per_node.reset();
  run.emulated_link.reset();
  return played;
}

std::vector<report::StepSample> play(const plan::Cell& cell, std::int32_t steps) {
  try {
    SimSession session({&cell, 1}, 0);
    const report::BlockRun run = session.run(0, 0, steps);
    std::vector<report::StepSample> samples;
    for (std::int32_t step = 0; step < steps; ++step)
      samples.push_back(
          {.step = step, .loss = mean_loss(run, static_cast<std::size_t>(step)), .transfer_cpu_ns = {}, .ranks = {}});
    return samples;
  } catch (const MachineError& error) {
    throw MachineError(fmt::format("cell {}: {}", cell.name, error.what()));
  }
}

// The only axis in which two cells differ; nullopt if they differ in none or several.
std::optional<std::size_t> only_difference(const CellResult& cell, const CellResult& reference) {
  std::optional<std::size_t> found;
  for (std::size_t axis = 0; axis < cell.values.size(); ++axis) {
    if (axis < reference.values.size() && cell.values[axis] == reference.values[axis]) continue;
    if (found) return std::nullopt;
    found = axis;
  }
  return found;
}

// Orders labels from not checked to mismatch.
int severity(NumericsLabel label) {
  switch (label) {
    case NumericsLabel::bit_identical: return 1;
    case NumericsLabel::reordered: return 2;
    case NumericsLabel::lower_precision: return 3;
    case NumericsLabel::mismatch: return 4;
    default: return 0;
  }
}

void add_axis(std::vector<AxisNumerics>& axes, const CellResult& cell, std::size_t axis) {
  const auto& [name, value] = cell.values[axis];
  auto entry = std::ranges::find_if(axes, [&](const AxisNumerics& a) { return a.axis == name && a.value == value; });
  if (entry == axes.end()) entry = axes.insert(axes.end(), {.axis = name, .value = value});
  if (severity(cell.label) > severity(entry->label)) entry->label = cell.label;
  entry->max_loss_difference = std::max(entry->max_loss_difference, cell.max_loss_difference);
}

}  // namespace

NumericsCheck check_numerics(const std::vector<plan::Cell>& cells, const std::vector<bool>& is_sound,
                             std::int32_t steps) {
  std::vector<plan::Cell> asked = cells;
  for (plan::Cell& cell : asked) cell.plan.config.run.emulated_link.reset();
  const std::vector<ShrunkCell> shrunk = shrunk_cells(asked, steps, kMostFlop);
  std::vector<CellResult> results;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    CellResult& result = results.emplace_back();
    result.name = asked[i].name;
    result.values = asked[i].values;
    result.no_comm = asked[i].plan.config.run.no_comm;
    if (!result.no_comm && is_sound[i]) result.samples = play(playable(asked[i], shrunk[i].config), steps);
  }
  NumericsCheck check;
  check.mismatches = label_numerics(asked, results);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const CellResult& result = results[i];
    CellNumerics& cell = check.cells.emplace_back();
    const std::optional<std::size_t> reference = numerics_reference(asked, results, i);
    if (!reference || result.label == NumericsLabel::not_checked) continue;
    cell = {result.label, asked[*reference].name, result.max_loss_difference, steps, shrunk[i].changes};
    if (const auto axis = only_difference(result, results[*reference])) add_axis(check.axes, result, *axis);
  }
  return check;
}

}  // namespace underlap::bench
