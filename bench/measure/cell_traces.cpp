// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/cell_traces.hpp"

#include <algorithm>
#include <utility>

#include "profiler/analysis/windows.hpp"
#include "profiler/formats/format.hpp"

namespace underlap::bench {

CellTraces::CellTraces(std::filesystem::path folder, std::size_t num_cells, bool measures_time)
    : folder_(std::move(folder)),
      measures_time_(measures_time),
      compute_(num_cells),
      delays_ns_(num_cells),
      writers_(num_cells) {}

void CellTraces::open(const std::vector<report::CellResult>& cells,
                      const std::function<void(std::size_t cell)>& reads) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const report::CellResult& cell = cells[i];
    if (cell.trace_file.empty()) continue;
    const bool goes_on = cell.trace_bytes > 0;
    writers_[i] = std::make_unique<formats::PerfettoWriter>(
        folder_ / cell.trace_file,
        goes_on ? formats::WriteAt::append_at(cell.trace_bytes) : formats::WriteAt::create());
    if (!goes_on) continue;
    reads(i);
    const Trace earlier = formats::read_trace(folder_ / cell.trace_file);
    add_compute(i, earlier);
    delays_ns_[i] = Delay{.earlier_end_ns = earlier.last_ns(), .ns = {}};
  }
}

void CellTraces::close() {
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    writers_[i].reset();
    compute_[i] = {};
    delays_ns_[i].reset();
  }
}

void CellTraces::append(std::size_t cell, Trace& trace, report::CellResult& result) {
  follow_earlier(cell, trace);
  add_compute(cell, trace);
  writers_[cell]->append(trace);
  result.trace_bytes = writers_[cell]->bytes();
}

void CellTraces::follow_earlier(std::size_t cell, Trace& trace) {
  std::optional<Delay>& delay = delays_ns_[cell];
  if (!delay) return;
  if (!delay->ns) delay->ns = std::max<std::int64_t>(0, delay->earlier_end_ns - trace.first_ns());
  trace.shift(*delay->ns);
  if (measures_time_) return;
  for (ClockSnapshot& clock : trace.clocks) clock.unix_ns += *delay->ns;  // a made-up wall clock, from 0 as well
}

void CellTraces::add_compute(std::size_t cell, const Trace& trace) {
  compute_[cell].add(trace, analysis::find_windows(trace).windows);
}

}  // namespace underlap::bench
