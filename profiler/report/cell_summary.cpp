// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/cell_summary.hpp"

#include <cmath>

namespace underlap::report {
namespace {

// Below this share of the step, ECT_off is so small that E would be noise divided by noise.
constexpr double kSmallestEctShare = 0.01;
constexpr double kNsPerMs = 1e6;

double ms(std::int64_t ns) { return static_cast<double>(ns) / kNsPerMs; }

// The counted steps of a cell: all but the stalled ones.
using Counted = std::vector<const StepSample*>;

Counted counted_steps(const CellResult& cell) {
  const Steps stalled = stalled_steps(cell);
  Counted counted;
  for (const StepSample& sample : cell.samples)
    if (!stalled.contains({sample.block, sample.step})) counted.push_back(&sample);
  return counted;
}

// Figures of the steps for which `figure` gives one, by block.
template <class Figure>
Blocks by_block(const Counted& steps, Figure figure) {
  Blocks blocks;
  for (const StepSample* sample : steps)
    if (const std::optional<double> value = figure(*sample)) blocks[sample->block].push_back(*value);
  return blocks;
}

template <class Figure>
std::optional<Estimate> estimate(const Counted& steps, Figure figure) {
  const Blocks blocks = by_block(steps, figure);
  return blocks.empty() ? std::nullopt : std::optional(block_median(blocks));
}

template <class Figure>
std::optional<double> value_of(const Counted& steps, Figure figure) {
  const auto found = estimate(steps, figure);
  return found ? std::optional(found->value) : std::nullopt;
}

// Turns a figure of one rank's window into the mean over the ranks of a sample.
template <class OfSplit>
auto mean_rank(OfSplit of_split) {
  return [of_split](const StepSample& sample) -> std::optional<double> {
    if (sample.ranks.empty()) return std::nullopt;
    double sum = 0;
    for (const analysis::Split& split : sample.ranks) sum += of_split(split);
    return sum / static_cast<double>(sample.ranks.size());
  };
}

std::optional<double> worst_exposed_ms(const StepSample& sample) {
  std::optional<double> worst;
  for (const analysis::Split& split : sample.ranks) worst = std::max(worst.value_or(0), ms(split.exposed_ns()));
  return worst;
}

std::optional<double> overlap_pct(const StepSample& sample) {
  double hidden = 0, comm = 0;
  for (const analysis::Split& split : sample.ranks) {
    hidden += static_cast<double>(split.hidden_ns);
    comm += static_cast<double>(split.comm_ns());
  }
  return comm > 0 ? std::optional(100 * hidden / comm) : std::nullopt;
}

double bytes_on_wire(const analysis::Split& split) {
  double bytes = 0;
  for (const auto& [mode, communication] : split.modes) bytes += static_cast<double>(communication.bytes_on_wire);
  return bytes;
}

std::optional<double> step_ms(const StepSample& sample) { return ms(sample.step_ns); }

using Communications = std::map<std::string, analysis::CommunicationSplit>;

// The mean rank's figure of one purpose or mode; a window without it counts as 0.
double communication_figure(const Counted& steps, Communications analysis::Split::*by, const std::string& key,
                            std::int64_t analysis::CommunicationSplit::*member) {
  const auto of_split = [&](const analysis::Split& split) {
    const auto found = (split.*by).find(key);
    return found == (split.*by).end() ? 0.0 : static_cast<double>(found->second.*member);
  };
  return value_of(steps, mean_rank(of_split)).value_or(0);
}

std::map<std::string, PurposeSummary> communications_of(const Counted& steps, Communications analysis::Split::*by) {
  using Split = analysis::CommunicationSplit;
  std::map<std::string, PurposeSummary> summaries;
  for (const StepSample* sample : steps)
    for (const analysis::Split& split : sample->ranks)
      for (const auto& [key, communication] : split.*by) summaries.try_emplace(key);
  for (auto& [key, summary] : summaries) {
    const auto figure = [&](std::int64_t Split::*member) { return communication_figure(steps, by, key, member); };
    summary.comm_ms = figure(&Split::comm_ns) / kNsPerMs;
    summary.exposed_ms = figure(&Split::exposed_ns) / kNsPerMs;
    summary.exposed_wait_ms = figure(&Split::exposed_wait_ns) / kNsPerMs;
    summary.pipeline_dependency_ms = figure(&Split::pipeline_dependency_ns) / kNsPerMs;
    summary.exposed_transfer_ms = figure(&Split::exposed_transfer_ns) / kNsPerMs;
    summary.exposed_unsplit_ms = figure(&Split::exposed_unsplit_ns) / kNsPerMs;
    summary.bytes_on_wire = figure(&Split::bytes_on_wire);
    summary.count = figure(&Split::count);
  }
  return summaries;
}

// Differences of two cells' block medians, in the blocks that both have.
Blocks paired_difference(const Blocks& a, const Blocks& b) {
  Blocks differences;
  for (const auto& [block, values] : a)
    if (const auto other = b.find(block); other != b.end())
      differences[block] = {median(values) - median(other->second)};
  return differences;
}

// The ratio of the two cells' steps as they are printed. Its interval comes from the ratios of the blocks, and is
// widened to include the ratio itself.
std::optional<Estimate> ratio_to(const Counted& off, const Counted& cell) {
  const Blocks ours = by_block(cell, step_ms);
  const Blocks theirs = by_block(off, step_ms);
  Blocks common = theirs;
  std::erase_if(common, [&](const auto& block) { return !ours.contains(block.first) || !(median(block.second) > 0); });
  if (common.empty()) return std::nullopt;
  Estimate ratio = paired_ratio(ours, common);
  ratio.value = analysis::typical(ours) / analysis::typical(theirs);
  if (ratio.interval)
    ratio.interval = Interval{std::min(ratio.interval->low, ratio.value), std::max(ratio.interval->high, ratio.value)};
  return ratio;
}

bool clearly_positive(const std::vector<double>& ect_off, double step_off_ms) {
  const double value = median(ect_off);
  const std::optional<Interval> interval = difference_interval(ect_off);
  return (interval ? interval->low : value) > 0 && value > kSmallestEctShare * step_off_ms;
}

// E is 1 - R with R a ratio of two medians: its interval is that of what each block's ect lies away from R * ect_off,
// in the median ect_off.
Estimate efficiency_of(const std::vector<double>& ect, const std::vector<double>& ect_off) {
  const double divisor = median(ect_off);
  const double ratio = median(ect) / divisor;
  std::vector<double> away;
  for (std::size_t block = 0; block < ect.size(); ++block) away.push_back(ect[block] - ratio * ect_off[block]);
  Estimate estimate{1 - ratio, median_interval(away), static_cast<std::int32_t>(ect.size())};
  if (estimate.interval)
    estimate.interval =
        Interval{estimate.value - estimate.interval->high / divisor, estimate.value - estimate.interval->low / divisor};
  return estimate;
}

std::optional<Estimate> efficiency(const Counted& cell, const Counted& off, const Counted& no_comm) {
  const Blocks t_comp = by_block(no_comm, step_ms);
  const Blocks steps_off = by_block(off, step_ms);
  const Blocks differences = paired_difference(by_block(cell, step_ms), t_comp);
  std::vector<double> ect, ect_off;
  Blocks divisors = paired_difference(steps_off, t_comp);
  std::erase_if(divisors, [&](const auto& block) { return !differences.contains(block.first); });
  if (divisors.empty()) return std::nullopt;
  for (const auto& [block, values] : divisors) {
    ect.push_back(differences.at(block).front());
    ect_off.push_back(values.front());
  }
  if (!clearly_positive(ect_off, block_median(steps_off).value)) return std::nullopt;
  return efficiency_of(ect, ect_off);
}

void compare(CellSummary& summary, const std::vector<CellResult>& cells, const std::vector<Counted>& steps,
             std::size_t cell) {
  const References references = find_references(cells, cell);
  if (references.off) summary.off_cell = cells[*references.off].name;
  if (references.no_comm) summary.no_comm_cell = cells[*references.no_comm].name;
  if (cells[cell].no_comm || !references.off || references.off == cell) return;
  summary.step_ratio_to_off = ratio_to(steps[*references.off], steps[cell]);
  if (references.no_comm)
    summary.efficiency = efficiency(steps[cell], steps[*references.off], steps[*references.no_comm]);
}

void compare_along_axes(std::vector<CellSummary>& summaries, const std::vector<CellResult>& cells,
                        const std::vector<Counted>& steps) {
  for (const AxisPair& pair : pairs_along_axes(cells)) {
    const std::optional<Estimate> ratio = ratio_to(steps[pair.other], steps[pair.cell]);
    if (!ratio) continue;
    AxisRatio& along = summaries[pair.cell].ratios_along[pair.axis];
    along = {.other_cell = cells[pair.other].name,
             .step_ratio = *ratio,
             .half_width = {},
             .is_resolved = ratio->interval && ratio->interval->half_width() <= kRatioResolution,
             .blocks_needed = blocks_to_resolve(*ratio, kRatioResolution)};
    if (ratio->interval) along.half_width = ratio->interval->half_width();
  }
}

// Without transfers ranks multiply what was never sent to them, so their loss is no number to show.
std::optional<double> final_loss(const CellResult& cell) {
  if (cell.no_comm) return std::nullopt;
  const auto last = std::max_element(cell.samples.begin(), cell.samples.end(), [](const auto& a, const auto& b) {
    return std::pair(a.block, a.step) < std::pair(b.block, b.step);
  });
  return last == cell.samples.end() ? std::nullopt : last->loss;
}

void hold_against_bound(CellSummary& summary, const CellResult& cell) {
  if (summary.step_ms && cell.bound_ideal_ns.value_or(0) > 0)
    summary.step_ratio_to_bound_ideal = summary.step_ms->value / ms(*cell.bound_ideal_ns);
  if (!summary.step_ms || cell.bound_ns.value_or(0) <= 0) return;
  const double bound_ms = ms(*cell.bound_ns);
  summary.step_ratio_to_bound = summary.step_ms->value / bound_ms;
  if (summary.transfer_cpu_ms)
    summary.step_ratio_to_bound_and_cpu = summary.step_ms->value / (bound_ms + *summary.transfer_cpu_ms);
}

std::optional<double> transfer_cpu_ms(const StepSample& sample) {
  return sample.transfer_cpu_ns ? std::optional(ms(*sample.transfer_cpu_ns)) : std::nullopt;
}

void rate(CellSummary& summary, const CellResult& cell, const std::string& convention) {
  constexpr double kMsPerS = 1e3;
  if (!summary.step_ms) return;
  const auto rates = rates_of(cell.work, cell.num_ranks, summary.step_ms->value / kMsPerS, convention);
  if (!rates) return;
  summary.tokens_per_s = rates->tokens_per_s;
  summary.tflops_per_gpu = rates->tflops_per_gpu;
  summary.mfu = rates->mfu;
}

CellSummary summarize_alone(const CellResult& cell, const Counted& steps, const std::string& convention) {
  CellSummary summary;
  summary.name = cell.name;
  summary.steps = static_cast<std::int32_t>(steps.size());
  summary.step_ms = estimate(steps, step_ms);
  summary.comm_ms = estimate(steps, mean_rank([](const auto& split) { return ms(split.comm_ns()); }));
  summary.exposed_ms = estimate(steps, mean_rank([](const auto& split) { return ms(split.exposed_ns()); }));
  summary.exposed_worst_ms = estimate(steps, worst_exposed_ms);
  summary.overlap_pct = value_of(steps, overlap_pct);
  summary.bytes_on_wire = value_of(steps, mean_rank(bytes_on_wire));
  summary.transfer_cpu_ms = value_of(steps, transfer_cpu_ms);
  summary.final_loss = final_loss(cell);
  summary.stalls = stalls_of(cell);
  summary.modes = communications_of(steps, &analysis::Split::modes);
  summary.purposes = communications_of(steps, &analysis::Split::purposes);
  hold_against_bound(summary, cell);
  rate(summary, cell, convention);
  return summary;
}

// Blocks of virtual time are equal, unless durations are varied at random: an interval would claim that something was
// found out by repeating them.
void forget_if_pointlike(std::optional<Estimate>& estimate) {
  constexpr double kRounding = 1e-9;  // of the interpolation between equal figures
  if (estimate && estimate->interval && estimate->interval->half_width() <= kRounding * std::abs(estimate->value))
    estimate->interval.reset();
}

void forget_pointlike_intervals(CellSummary& summary) {
  for (const auto estimate :
       {&CellSummary::step_ms, &CellSummary::comm_ms, &CellSummary::exposed_ms, &CellSummary::exposed_worst_ms,
        &CellSummary::step_ratio_to_off, &CellSummary::efficiency})
    forget_if_pointlike(summary.*estimate);
  for (auto& [axis, along] : summary.ratios_along) {
    std::optional<Estimate> ratio = along.step_ratio;
    forget_if_pointlike(ratio);
    if (ratio->interval) continue;
    along = {.other_cell = along.other_cell,
             .step_ratio = *ratio,
             .half_width = {},
             .is_resolved = false,
             .blocks_needed = {}};
  }
}

}  // namespace

std::vector<CellSummary> summarize(const RunResults& results) {
  std::vector<CellSummary> summaries;
  std::vector<Counted> steps;
  for (const CellResult& cell : results.cells) steps.push_back(counted_steps(cell));
  for (std::size_t i = 0; i < results.cells.size(); ++i)
    compare(summaries.emplace_back(summarize_alone(results.cells[i], steps[i], results.info.flops)), results.cells,
            steps, i);
  compare_along_axes(summaries, results.cells, steps);
  if (!traits_of(results.info.backend).measures_time)
    for (CellSummary& summary : summaries) forget_pointlike_intervals(summary);
  return summaries;
}

std::optional<StepRates> rates_of(const StepWork& work, std::int32_t num_ranks, double step_s,
                                  const std::string& convention) {
  constexpr double kFlopsPerTflop = 1e12;
  const auto flops = work.flops.find(convention);
  if (flops == work.flops.end() || num_ranks < 1 || !(step_s > 0)) return std::nullopt;
  StepRates rates{.tokens_per_s = static_cast<double>(work.tokens) / step_s,
                  .tflops_per_gpu = flops->second / step_s / num_ranks / kFlopsPerTflop,
                  .mfu = {}};
  if (work.peak_tflops > 0) rates.mfu = rates.tflops_per_gpu / work.peak_tflops;
  return rates;
}

std::string convention_words(const std::string& convention) {
  const std::string attention =
      convention.starts_with("causal") ? "the causal half of attention" : "the full attention matrix";
  return attention + (convention.ends_with("+recompute") ? ", including recomputation" : ", without recomputation");
}

}  // namespace underlap::report
