// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/cell_traces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "platform/errors.hpp"

namespace underlap::bench {
namespace {

using Which = plan::KeptTraces::Which;
namespace fs = std::filesystem;

std::int64_t longest_ns(const std::vector<report::StepSample>& samples) {
  std::int64_t longest = -1;
  for (const report::StepSample& sample : samples) longest = std::max(longest, sample.step_ns);
  return longest;
}

constexpr std::string_view kPending = ".block-";

fs::path pending_path(const fs::path& trace, std::int32_t block) {
  return trace.string() + fmt::format("{}{}", kPending, block);
}

void take_place(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw MachineError(fmt::format("cannot rename {} to {}: {}", from.string(), to.string(), error.message()));
}

}  // namespace

std::vector<std::int32_t> kept_ranks(const plan::KeptTraces& kept, const report::BlockRun& run,
                                     const report::CellResult& result) {
  std::vector<std::int32_t> ranks = report::ranks_of(run);
  switch (kept.which) {
    case Which::all: return ranks;
    case Which::none: return {};
    case Which::worst:
      return longest_ns(samples_of(run, 0)) > longest_ns(result.samples) ? ranks : std::vector<std::int32_t>{};
    case Which::sample: break;
  }
  const auto all = static_cast<std::int64_t>(ranks.size());
  const std::int64_t count = std::min(kept.num_ranks, all);
  std::vector<std::int32_t> sampled;
  for (std::int64_t i = 0; i < count; ++i) sampled.push_back(ranks[static_cast<std::size_t>(i * all / count)]);
  return sampled;
}

CellTraces::CellTraces(fs::path folder, std::span<const plan::Cell> cells)
    : folder_(std::move(folder)),
      cells_(cells),
      delays_ns_(cells.size()),
      writers_(cells.size()),
      pending_(cells.size()) {}

bool CellTraces::replaces(std::size_t cell) const {
  return cells_[cell].plan.config.run.kept_traces.which == Which::worst;
}

void CellTraces::open(const std::vector<report::CellResult>& cells, const KernelFiles& times) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const report::CellResult& cell = cells[i];
    if (cell.trace_file.empty()) continue;
    const bool goes_on = cell.trace_bytes > 0;
    if (goes_on) delays_ns_[i] = Delay{.earlier_end_ns = times.last_ns(i), .ns = {}};
    if (!replaces(i))
      writers_[i] = std::make_unique<formats::PerfettoWriter>(folder_ / cell.trace_file,
                                                              goes_on ? std::optional(cell.trace_bytes) : std::nullopt);
  }
}

void CellTraces::close() {
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    writers_[i].reset();
    delays_ns_[i].reset();
    std::error_code ignored;
    if (!pending_[i].empty()) fs::remove(std::exchange(pending_[i], {}), ignored);
  }
}

void CellTraces::keep(std::size_t cell, std::int32_t block, Trace& trace, report::CellResult& result) {
  follow_earlier(cell, trace);
  if (!replaces(cell)) {
    writers_[cell]->append(trace);
    result.trace_bytes = writers_[cell]->bytes();
    return;
  }
  pending_[cell] = pending_path(folder_ / result.trace_file, block);
  formats::PerfettoWriter writer(pending_[cell]);
  writer.append(trace);
  result.trace_bytes = writer.bytes();
}

void CellTraces::commit(const std::vector<report::CellResult>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (!pending_[i].empty()) take_place(std::exchange(pending_[i], {}), folder_ / cells[i].trace_file);
}

void CellTraces::follow_earlier(std::size_t cell, Trace& trace) {
  std::optional<Delay>& delay = delays_ns_[cell];
  if (!delay) return;
  if (!delay->ns) delay->ns = std::max<std::int64_t>(0, delay->earlier_end_ns - trace.first_ns());
  trace.shift(*delay->ns);
  if (cells_[cell].plan.config.run.traits().measures_time) return;
  for (ClockSnapshot& clock : trace.clocks) clock.unix_ns += *delay->ns;  // a made-up wall clock, from 0 as well
}

// traces/03-off.pftrace.block-2
void settle_traces(const fs::path& folder, const report::RunResults& results) {
  std::error_code ignored;
  for (const fs::directory_entry& file : fs::directory_iterator(folder / "traces", ignored)) {
    const std::string name = file.path().filename().string();
    const std::size_t at = name.rfind(kPending);
    std::int32_t block = -1;
    if (at == std::string::npos) continue;
    std::from_chars(name.data() + at + kPending.size(), name.data() + name.size(), block);
    const std::string trace = "traces/" + name.substr(0, at);
    const auto cell = std::ranges::find(results.cells, trace, &report::CellResult::trace_file);
    if (cell != results.cells.end() && block >= 0 && block < report::blocks_of(*cell))
      take_place(file.path(), folder / trace);
    else
      fs::remove(file.path(), ignored);
  }
}

}  // namespace underlap::bench
