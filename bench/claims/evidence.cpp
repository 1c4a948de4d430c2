// SPDX-License-Identifier: Apache-2.0
#include "bench/claims/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>

#include "bench/config_input.hpp"
#include "bench/samples.hpp"
#include "bench/session.hpp"
#include "impl/step/trainer.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/windows.hpp"

namespace underlap::bench {
namespace {

constexpr double kNsPerMs = 1e6;

plan::Matrix read_matrix(const std::string& file) {
  plan::Matrix matrix = parse_matrix(plan::read_config(file), file);
  std::string errors;
  for (const plan::Message& error : matrix.errors)
    errors += fmt::format("{}{}: {}", errors.empty() ? "" : "\n", error.where, error.message);
  if (!errors.empty()) throw std::invalid_argument(errors);
  for (const plan::Cell& cell : matrix.cells)
    if (cell.plan.config.run.backend != "sim")
      throw std::invalid_argument(fmt::format("{}: run.backend is {}; claims are held against virtual time, sim", file,
                                              cell.plan.config.run.backend));
  return matrix;
}

std::vector<std::string> why_not_run(const plan::Matrix& matrix) {
  std::set<std::string> messages;
  for (const plan::Cell& cell : matrix.cells)
    for (const plan::Message& message : cell.plan.not_run) messages.insert(message.message);
  return {messages.begin(), messages.end()};
}

analysis::Interval cut(const Trace& trace, std::size_t slice, const analysis::Window& window) {
  return {std::max(trace.start_ns()[slice], window.begin_ns), std::min(trace.end_ns(slice), window.end_ns)};
}

// The ranks of a claim's matrix do the same, microseconds apart, so rank 0 stands for all.
std::vector<Chunk> chunks_of(const Trace& trace) {
  const std::vector<analysis::Window> windows = analysis::find_windows(trace).windows;
  const auto last = std::find_if(windows.rbegin(), windows.rend(), [](const auto& w) { return w.rank == 0; });
  if (last == windows.rend()) return {};
  std::vector<analysis::Interval> compute;
  std::map<std::int64_t, std::size_t> collectives;  // by start
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.tracks[trace.track(i)].rank != 0 || cut(trace, i, *last).length() <= 0) continue;
    if (trace.tag(i).kind == Kind::compute) compute.push_back(cut(trace, i, *last));
    if (trace.tag(i).kind == Kind::communication) collectives[trace.start_ns()[i]] = i;
  }
  const analysis::IntervalSet busy(std::move(compute));
  std::vector<Chunk> chunks;
  for (const auto& [start, slice] : collectives) {
    const analysis::IntervalSet active({cut(trace, slice, *last)});
    chunks.push_back({std::string(name_of(trace.tag(slice).purpose)), static_cast<double>(active.length()) / kNsPerMs,
                      static_cast<double>(subtract(active, busy).length()) / kNsPerMs});
  }
  return chunks;
}

// One cell's ranks are in memory at a time.
void run_cell(const plan::Cell& cell, ClaimCell& into) {
  const plan::RunConfig& run = cell.plan.config.run;
  const auto session = make_session(std::span(&cell, 1), 0);
  session->run(0, -1, run.warmup);
  const BlockRun block = session->run(0, 0, run.steps + 1);
  RunResults results;
  CellResult& result = results.cells.emplace_back();
  result.name = cell.name;
  result.samples = samples_of(block, 0, run.trace);
  into.run = summarise(results).front();
  into.chunks = chunks_of(block.trace);
}

}  // namespace

LayerCut layer_cut(const plan::Config& config) {
  const model::ModelParameters parameters = model::list_parameters(config.model);
  const dp::BucketLayout layout = bucket_layout(config);
  LayerCut cut;
  for (const dp::Parameter& parameter : parameters.all)
    if (parameter.layer == 0) cut.layer_elements += parameter.elements();
  std::vector<std::int64_t> sizes;
  std::map<std::int32_t, int> buckets_of_layer;
  for (const dp::Bucket& bucket : layout.buckets) {
    std::set<std::int32_t> layers;
    for (const std::int32_t p : bucket.parameters) layers.insert(parameters.all[static_cast<std::size_t>(p)].layer);
    layers.erase(-1);
    for (const std::int32_t layer : layers) ++buckets_of_layer[layer];
    sizes.push_back(bucket.elements());
    cut.buckets_of_several_layers += layers.size() > 1 ? 1 : 0;
  }
  for (const auto& [layer, buckets] : buckets_of_layer) cut.layers_in_several_buckets += buckets > 1 ? 1 : 0;
  std::sort(sizes.begin(), sizes.end());
  cut.buckets = std::ssize(sizes);
  cut.middle_bucket_elements = sizes[sizes.size() / 2];
  return cut;
}

Evidence gather_evidence(const std::string& file, bool runs) {
  const plan::Matrix matrix = read_matrix(file);
  Evidence evidence{.link = {}, .cells = {}, .not_run = {}, .knobs = plan::known_knobs()};
  if (runs) evidence.not_run = why_not_run(matrix);
  const bool is_run = runs && evidence.not_run.empty();
  if (is_run) evidence.link = link_text(matrix.cells.front().plan.config.run);
  for (const plan::Cell& cell : matrix.cells) {
    ClaimCell& found = evidence.cells.emplace_back();
    found.name = cell.name;
    found.values = {cell.values.begin(), cell.values.end()};
    found.plan = cell.plan;
    if (!cell.plan.buckets.empty()) found.cut = layer_cut(cell.plan.config);
    if (is_run) run_cell(cell, found);
  }
  return evidence;
}

}  // namespace underlap::bench
