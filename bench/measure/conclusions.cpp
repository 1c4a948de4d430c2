// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/conclusions.hpp"

#include "bench/measure/bound.hpp"
#include "impl/device/sim/machine.hpp"
#include "profiler/report/cell_summary.hpp"

namespace underlap::bench {
namespace {

using report::CellResult;

class Conclusions {
 public:
  Conclusions(std::span<const plan::Cell> cells, report::RunResults& results, const KernelFiles& times)
      : cells_(cells), results_(results), times_(times) {}

  void draw(std::size_t cell) {
    lay_bounds(cell);
    attribute_compute(cell);
  }

 private:
  // Read once for each set of steps that a comparison leaves out, which is mostly none.
  const CellTimes& times_of(std::size_t cell, const report::Steps& left_out = {}) {
    const auto [entry, is_new] = read_.try_emplace({cell, left_out});
    if (is_new) entry->second = times_.times_of(cell, left_out);
    return entry->second;
  }

  void lay_bounds(std::size_t i) {
    const StepBound bound = find_bound(i);
    CellResult& cell = results_.cells[i];
    if (bound.ns) cell.bound_ns = bound.ns->schedule_ns, cell.bound_ideal_ns = bound.ns->ideal_ns;
    cell.bound_kernel_ns = bound.kernel_ns;
    cell.bound_source = bound.source;
  }

  StepBound find_bound(std::size_t i) {
    const plan::Config& config = cells_[i].plan.config;
    if (!config.run.traits().measures_time) {
      if (!config.run.trace) return {std::nullopt, "not computed: with run.trace false, only step times are simulated"};
      return step_bound(config, *sim::make_time_model(config));
    }
    const report::References references = find_references(results_.cells, i);
    if (!references.no_comm || times_of(*references.no_comm).places.empty())
      return {std::nullopt, "no traced cell without transfers to take durations from"};
    const ComputeDurations alone(times_of(*references.no_comm).places);
    return step_bound(config, {.no_comm = alone,
                               .own = [&] { return ComputeDurations(times_of(i).places); },
                               .off = references.off ? &times_of(*references.off).alone : nullptr});
  }

  void attribute_compute(std::size_t i) {
    CellResult& cell = results_.cells[i];
    const analysis::ComputeTimes& own = times_of(i, stalled_steps(cell)).compute;
    if (own.windows() == 0) return;
    cell.kernel_ns = own.kernels_ns_by_purpose();
    cell.kernel_windows = own.windows();
    const std::optional<std::size_t> off = find_references(results_.cells, i).off;
    if (!off || *off == i || cell.no_comm) return;
    const report::Steps stalled = stalled_steps(results_.cells[*off], cell);
    const analysis::ComputeTimes& from = times_of(*off, stalled).compute;
    const analysis::ComputeTimes& to = times_of(i, stalled).compute;
    if (from.windows() != to.windows()) return;
    cell.compute_since_off =
        report::ComputeSinceOff{results_.cells[*off].name, to.windows(), analysis::compute_change(from, to)};
  }

  std::span<const plan::Cell> cells_;
  report::RunResults& results_;
  const KernelFiles& times_;
  std::map<std::pair<std::size_t, report::Steps>, CellTimes> read_;
};

}  // namespace

void draw_conclusions(std::span<const plan::Cell> cells, report::RunResults& results, const KernelFiles& times,
                      const std::function<void(std::size_t cell)>& says) {
  Conclusions conclusions(cells, results, times);
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    says(cell);
    conclusions.draw(cell);
  }
}

}  // namespace underlap::bench
