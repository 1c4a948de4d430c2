// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/conclusions.hpp"

#include <map>
#include <optional>

#include "bench/measure/bound.hpp"
#include "profiler/analysis/compute_change.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/report/stalls.hpp"
#include "profiler/report/summary.hpp"

namespace underlap::bench {
namespace {

using report::CellResult;

class Conclusions {
 public:
  Conclusions(const std::vector<plan::Cell>& cells, report::RunResults& results, const std::filesystem::path& folder)
      : cells_(cells), results_(results), folder_(folder) {}

  void add(std::size_t cell) {
    add_bounds(cell);
    if (has_trace(cell)) add_compute(cell);
  }

 private:
  bool has_trace(std::size_t cell) const { return results_.cells[cell].trace_bytes > 0; }

  Trace read(std::size_t cell) const {
    return has_trace(cell) ? formats::read_trace(folder_ / results_.cells[cell].trace_file) : Trace{};
  }

  // Of a cell that others are held against: read once. Null without recorder.
  const Trace* reference(std::optional<std::size_t> cell) {
    if (!cell || !has_trace(*cell)) return nullptr;
    const auto [entry, is_new] = references_.try_emplace(*cell);
    if (is_new) entry->second = read(*cell);
    return &entry->second;
  }

  void add_bounds(std::size_t index) {
    const StepBound bound = find_bound(index);
    CellResult& cell = results_.cells[index];
    if (bound.ns) cell.bound_ns = bound.ns->schedule_ns, cell.bound_ideal_ns = bound.ns->ideal_ns;
    cell.bound_kernel_ns = bound.kernel_ns;
    cell.bound_source = bound.source;
  }

  StepBound find_bound(std::size_t index) {
    const plan::Config& config = cells_[index].plan.config;
    const report::References held_against = find_references(results_.cells, index);
    const Trace* no_comm = reference(held_against.no_comm);
    if (no_comm == nullptr) return {std::nullopt, "no traced cell without transfers to take durations from"};
    const std::int32_t ranks = config.parallel.stage_size();
    const ComputeDurations alone(*no_comm, ranks);
    return step_bound(config, {.no_comm = alone,
                               .own = [&] { return ComputeDurations(read(index), ranks); },
                               .off = reference(held_against.off)});
  }

  void add_compute(std::size_t index) {
    CellResult& cell = results_.cells[index];
    const analysis::ComputeTimes own = compute_without(read(index), stalled_steps(cell));
    cell.kernel_ns = own.kernels_ns_by_purpose();
    cell.kernel_windows = own.windows();
    const std::optional<std::size_t> off = find_references(results_.cells, index).off;
    if (!off || *off == index || cell.no_comm || !has_trace(*off)) return;
    const report::Steps stalled = stalled_steps(results_.cells[*off], cell);
    const analysis::ComputeTimes from = compute_without(*reference(off), stalled);
    const analysis::ComputeTimes to = compute_without(read(index), stalled);
    if (from.windows() != to.windows()) return;
    cell.compute_since_off =
        report::ComputeSinceOff{results_.cells[*off].name, to.windows(), analysis::compute_change(from, to)};
  }

  static analysis::ComputeTimes compute_without(const Trace& trace, const report::Steps& steps) {
    std::vector<analysis::Window> windows = analysis::find_windows(trace).windows;
    std::erase_if(windows, [&](const analysis::Window& window) { return steps.contains({window.block, window.step}); });
    analysis::ComputeTimes times;
    times.add(trace, windows);
    return times;
  }

  const std::vector<plan::Cell>& cells_;
  report::RunResults& results_;
  const std::filesystem::path& folder_;
  std::map<std::size_t, Trace> references_;
};

}  // namespace

void conclude(const std::vector<plan::Cell>& cells, report::RunResults& results, const std::filesystem::path& folder,
              const std::function<void(std::size_t cell)>& at) {
  Conclusions conclusions(cells, results, folder);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    at(i);
    conclusions.add(i);
  }
}

}  // namespace underlap::bench
