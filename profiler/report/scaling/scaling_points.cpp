// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/scaling/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "platform/json.hpp"
#include "profiler/report/statistics.hpp"

namespace underlap::report {
namespace {

constexpr double kNsInMs = 1e6;

// Waits for others are not a rank's own; of what is exposed without a known last arrival all may be waiting.
std::int64_t own_ns(const analysis::Split& split) {
  return split.window_ns - split.exposed_wait_ns - split.exposed_unsplit_ns;
}

template <class OfSplit>
double mean_rank_ms(const CellResult& cell, OfSplit of_split) {
  Blocks blocks;
  for (const StepSample& sample : cell.samples) {
    if (sample.ranks.empty()) continue;
    double sum = 0;
    for (const analysis::Split& split : sample.ranks) sum += static_cast<double>(of_split(split));
    blocks[sample.block].push_back(sum / static_cast<double>(sample.ranks.size()) / kNsInMs);
  }
  return blocks.empty() ? 0 : block_median(blocks).value;
}

// Each rank's median over the steps; empty where not all steps have the same ranks.
template <class OfSplit>
std::vector<double> medians_by_rank(const CellResult& cell, OfSplit of_split) {
  const std::size_t ranks = cell.samples.front().ranks.size();
  const auto has_all = [&](const StepSample& sample) { return sample.ranks.size() == ranks; };
  if (!std::ranges::all_of(cell.samples, has_all)) return {};
  std::vector<double> medians, of_rank(cell.samples.size());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < cell.samples.size(); ++i)
      of_rank[i] = static_cast<double>(of_split(cell.samples[i].ranks[rank])) / kNsInMs;
    medians.push_back(median(of_rank));
  }
  return medians;
}

std::optional<Spread> spread_of(const std::vector<double>& by_rank) {
  if (by_rank.size() < 2) return std::nullopt;
  const auto at = [&](double p) { return quantile(by_rank, p); };
  return Spread{.least = at(0), .p5 = at(0.05), .median = at(0.5), .p95 = at(0.95), .most = at(1)};
}

double share_of_steps(const CellResult& cell, std::size_t rank) {
  std::size_t steps = 0;
  for (const StepSample& sample : cell.samples)
    steps +=
        std::ranges::max_element(sample.ranks, {}, own_ns) - sample.ranks.begin() == static_cast<std::ptrdiff_t>(rank);
  return static_cast<double>(steps) / static_cast<double>(cell.samples.size());
}

std::string node_of(const std::vector<LaunchedRank>& ranks, std::size_t rank) {
  return rank < ranks.size() ? ranks[rank].node : std::string();
}

std::optional<SlowestNode> slowest_node(const std::vector<LaunchedRank>& ranks,
                                        const std::vector<double>& own_by_rank) {
  std::map<std::string, std::vector<double>> by_node;
  for (std::size_t rank = 0; rank < own_by_rank.size(); ++rank)
    if (const std::string node = node_of(ranks, rank); !node.empty()) by_node[node].push_back(own_by_rank[rank]);
  if (by_node.size() < 2) return std::nullopt;
  SlowestNode slowest;
  for (const auto& [node, own] : by_node)
    if (const double its = median(own); its > slowest.own_ms) slowest = {node, its};
  return slowest;
}

void add_ranks(ScalingPoint& point, const RunInfo& info, const CellResult& cell) {
  const std::vector<LaunchedRank>& launched = launched_ranks_of(info, cell);
  point.exposed_spread = spread_of(medians_by_rank(cell, [](const auto& split) { return split.exposed_ns(); }));
  const std::vector<double> own = medians_by_rank(cell, own_ns);
  point.own_spread = spread_of(own);
  if (!point.own_spread || point.num_ranks_played != point.num_ranks) return;
  if (point.own_spread->most <= point.own_spread->median) return;
  const auto rank = static_cast<std::size_t>(std::ranges::max_element(own) - own.begin());
  point.slowest_rank = {.rank = static_cast<std::int32_t>(rank),
                        .node = node_of(launched, rank),
                        .own_ms = own[rank],
                        .share_of_steps = share_of_steps(cell, rank)};
  point.slowest_node = slowest_node(launched, own);
}

void read_plan(ScalingPoint& point, const CellResult& cell) {
  const nlohmann::ordered_json plan = parse_json_or_discard(cell.plan_json);
  if (!plan.is_object() || !plan.contains("knobs")) return;
  for (const auto& knob : plan["knobs"])
    if (const std::string name = knob.value("name", std::string()); !name.empty() && knob.contains("effective"))
      point.knobs[name] = {knob.contains("requested") ? json_text(knob["requested"]) : "null",
                           json_text(knob["effective"])};
}

std::optional<double> number_of(const ScalingPoint& point, const std::string& knob) {
  const auto found = point.knobs.find(knob);
  if (found == point.knobs.end()) return std::nullopt;
  const double number = std::strtod(found->second.effective.c_str(), nullptr);
  return number > 0 ? std::optional(number) : std::nullopt;
}

// A plan names what was asked for or has a rule; what it does not name has the preset's value.
void count_work(ScalingPoint& point) {
  point.sequences = number_of(point, "train.global_batch_size");
  const auto micro_batch = number_of(point, "train.micro_batch_size");
  const auto microbatches = number_of(point, "train.num_microbatches");
  if (!point.sequences && micro_batch && microbatches)
    point.sequences = *micro_batch * *microbatches * number_of(point, "data_parallel_size").value_or(1);
  if (const auto length = number_of(point, "model.seq_length"); length && point.sequences)
    point.tokens = *point.sequences * *length;
}

std::map<std::string, std::string> environment_of(const RunInfo& info) {
  std::map<std::string, std::string> environment{
      {"commit", info.commit}, {"version", info.version}, {"link", info.link}};
  for (const auto& [library, version] : info.library_versions) environment[library] = version;
  if (traits_of(info.backend).measures_time) {
    environment["processor"] = info.cpu_model;
    if (!info.gpu_model.empty()) environment["GPU"] = info.gpu_model;
    environment["operating system"] = info.operating_system;
  }
  return environment;
}

// Without a launcher all ranks are on this machine. In virtual time the number of nodes is unknown.
std::optional<std::int32_t> nodes_of(const RunInfo& info, const CellResult& cell, std::int32_t ranks) {
  const std::vector<LaunchedRank>& launched = launched_ranks_of(info, cell);
  if (launched.empty()) return traits_of(info.backend).measures_time ? std::optional(1) : std::nullopt;
  std::set<std::string> nodes;
  for (std::size_t rank = 0; rank < launched.size() && rank < static_cast<std::size_t>(ranks); ++rank)
    nodes.insert(launched[rank].node);
  return static_cast<std::int32_t>(nodes.size());
}

// The name without the words that set its size, as names of cells are made: a value, or AXIS=VALUE.
std::string name_without_size(const CellResult& cell) {
  std::set<std::string> words;
  for (const auto& [axis, value] : cell.values)
    if (is_size(axis)) words.insert(axis + "=" + value);
  std::istringstream stream(cell.name);
  std::string name;
  for (std::string word; stream >> word;)
    if (!words.contains(word)) name += (name.empty() ? "" : " ") + word;
  return name.empty() ? "all" : name;
}

ScalingPoint point_of(const RunInfo& info, const CellResult& cell, const CellSummary& summary) {
  const auto played = static_cast<std::int32_t>(cell.samples.front().ranks.size());
  ScalingPoint point{.cell = name_without_size(cell),
                     .name = cell.name,
                     .is_modelled = !traits_of(info.backend).measures_time,
                     .no_comm = cell.no_comm,
                     .num_ranks = cell.num_ranks > 0 ? cell.num_ranks : played,
                     .num_ranks_played = played,
                     .environment = environment_of(info),
                     .backend = std::string(to_string(info.backend)),
                     .summary = summary};
  point.num_nodes = nodes_of(info, cell, point.num_ranks);
  read_plan(point, cell);
  count_work(point);
  point.exposed_wait_ms = mean_rank_ms(cell, [](const auto& split) { return split.exposed_wait_ns; });
  point.exposed_transfer_ms = mean_rank_ms(cell, [](const auto& split) { return split.exposed_transfer_ns(); });
  point.exposed_unsplit_ms = mean_rank_ms(cell, [](const auto& split) { return split.exposed_unsplit_ns; });
  add_ranks(point, info, cell);
  return point;
}

std::string why_left_out(const CellResult& cell) {
  if (!cell.invalid_because.empty()) return "its times are invalid: " + cell.invalid_because.front();
  if (cell.samples.empty()) return "it has no measured steps";
  if (cell.num_ranks == 0 && cell.samples.front().ranks.empty()) return "its number of ranks is not recorded";
  return "";
}

void take_block(CellResult& cell, CellResult other, std::int32_t block) {
  for (StepSample& sample : other.samples) {
    sample.block = block;
    cell.samples.push_back(std::move(sample));
  }
  std::ranges::move(other.invalid_because, std::back_inserter(cell.invalid_because));
}

}  // namespace

bool is_size(std::string_view knob) {
  const std::string_view last = knob.substr(knob.rfind('.') + 1);
  return (last.ends_with("parallel_size") && !last.starts_with("virtual_")) || last == "global_batch_size" ||
         last == "num_microbatches";
}

RunResults joined(std::vector<RunResults> runs, const std::string& series) {
  if (runs.empty()) throw std::invalid_argument(series + ": contains no run");
  RunResults whole = std::move(runs.front());
  if (runs.size() == 1) return whole;
  for (CellResult& cell : whole.cells)
    for (StepSample& sample : cell.samples) sample.block = 0;
  for (std::size_t run = 1; run < runs.size(); ++run) {
    if (!std::ranges::equal(whole.cells, runs[run].cells, {}, &CellResult::name, &CellResult::name))
      throw std::invalid_argument(
          fmt::format("{0}: run {1} has other cells than the first run\n  name a single run: {0}/run-00", series, run));
    for (std::size_t i = 0; i < whole.cells.size(); ++i)
      take_block(whole.cells[i], std::move(runs[run].cells[i]), static_cast<std::int32_t>(run));
  }
  whole.blocks_planned = whole.blocks_done = static_cast<std::int32_t>(runs.size());
  return whole;
}

std::vector<ScalingPoint> scaling_points(const RunResults& results, const std::string& run, std::int32_t num_runs,
                                         std::vector<std::string>& notes) {
  if (results.blocks_done < results.blocks_planned)
    notes.push_back(fmt::format("{}: {} of {} blocks are done", run, results.blocks_done, results.blocks_planned));
  if (num_runs > 1 && num_runs < results.info.series_runs)
    notes.push_back(fmt::format("{}: {} of {} runs are done", run, num_runs, results.info.series_runs));
  const std::vector<CellSummary> summaries = summarize(results);
  std::vector<ScalingPoint> points;
  for (std::size_t i = 0; i < results.cells.size(); ++i) {
    const CellResult& cell = results.cells[i];
    if (const std::string why = why_left_out(cell); !why.empty()) {
      notes.push_back(fmt::format("{}: cell {} is excluded: {}", run, cell.name, why));
      continue;
    }
    ScalingPoint& point = points.emplace_back(point_of(results.info, cell, summaries[i]));
    point.run = run;
    point.num_runs = num_runs;
  }
  return points;
}

}  // namespace underlap::report
