// SPDX-License-Identifier: Apache-2.0
#include "research/studies/claims/evidence.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "bench/ranks/session.hpp"
#include "impl/plan/layout/chunk_buckets.hpp"
#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/report/samples.hpp"

namespace underlap::bench {
namespace {

constexpr double kNsPerMs = 1e6;

bool stands_in(const plan::Plan& plan, const plan::Message& error) {
  return std::ranges::any_of(plan.errors, [&](const plan::Message& other) {
    return other.where == error.where && other.message == error.message;
  });
}

// Whether only some of the cells have the error: what a claim may say of them, and no mistake in the file.
bool sets_cells_apart(const plan::Message& error, const plan::Matrix& matrix) {
  const auto count =
      std::ranges::count_if(matrix.cells, [&](const plan::Cell& cell) { return stands_in(cell.plan, error); });
  return count > 0 && count < std::ssize(matrix.cells);
}

plan::Matrix read_matrix(const std::string& file, bool runs) {
  plan::Matrix matrix = plan::parse(plan::read_config(file), file);
  std::string errors;
  for (const plan::Message& error : matrix.errors)
    if (runs || !sets_cells_apart(error, matrix)) errors += (errors.empty() ? "" : "\n") + error.text();
  if (!errors.empty()) throw std::invalid_argument(errors);
  for (const plan::Cell& cell : matrix.cells)
    if (cell.plan.config.run.traits().measures_time)
      throw std::invalid_argument(fmt::format("{}: run.backend is {}; claims are compared with simulation, backend sim",
                                              file, cell.plan.config.run.traits().name));
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

// The collectives of one rank's window, in the order of their start.
std::vector<Chunk> chunks_of(const Trace& trace, const analysis::Window& window) {
  std::vector<analysis::Interval> compute;
  std::multimap<std::int64_t, std::size_t> collectives;  // by start
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.tracks[trace.track(i)].rank != window.rank || cut(trace, i, window).length() <= 0) continue;
    if (trace.tag(i).kind == Kind::compute) compute.push_back(cut(trace, i, window));
    if (trace.tag(i).kind == Kind::communication) collectives.emplace(trace.start_ns()[i], i);
  }
  const analysis::IntervalSet busy(std::move(compute));
  std::vector<Chunk> chunks;
  for (const auto& [start, slice] : collectives) {
    const analysis::IntervalSet active({cut(trace, slice, window)});
    chunks.push_back({std::string(name_of(trace.tag(slice).purpose)), static_cast<double>(active.length()) / kNsPerMs,
                      static_cast<double>(subtract(active, busy).length()) / kNsPerMs});
  }
  return chunks;
}

using Windows = std::map<std::int32_t, analysis::Window>;  // by rank

Windows last_windows(const Trace& trace) {
  Windows last;
  for (const analysis::Window& window : analysis::find_windows(trace).windows) last[window.rank] = window;
  return last;
}

// The collectives of the last step, each the mean over the ranks: they all take part in the same ones.
std::vector<Chunk> chunks_of(const Trace& trace, const Windows& last) {
  std::vector<Chunk> mean;
  for (const auto& [rank, window] : last) {
    const std::vector<Chunk> chunks = chunks_of(trace, window);
    if (mean.empty()) mean.resize(chunks.size());
    const auto share = 1.0 / static_cast<double>(last.size());
    for (std::size_t i = 0; i < std::min(mean.size(), chunks.size()); ++i)
      mean[i] = {chunks[i].purpose, mean[i].time_ms + share * chunks[i].time_ms,
                 mean[i].exposed_ms + share * chunks[i].exposed_ms};
  }
  return mean;
}

std::set<std::string> computed_in(const Trace& trace) {
  std::set<std::string> purposes;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.tag(i).kind == Kind::compute) purposes.emplace(name_of(trace.tag(i).purpose));
  return purposes;
}

std::vector<analysis::Split> splits_of(const Trace& trace, const Windows& windows) {
  std::vector<analysis::Window> all;
  for (const auto& [rank, window] : windows) all.push_back(window);
  return analysis::split_windows(trace, all);
}

std::map<std::string, ModeTime> modes_of(const std::vector<analysis::Split>& splits) {
  std::map<std::string, ModeTime> mean;
  const double share = 1 / (kNsPerMs * static_cast<double>(splits.size()));
  for (const analysis::Split& split : splits)
    for (const auto& [mode, of] : split.modes) {
      mean[mode].comm_ms += share * static_cast<double>(of.comm_ns);
      mean[mode].exposed_ms += share * static_cast<double>(of.exposed_ns);
      mean[mode].exposed_transfer_ms += share * static_cast<double>(of.exposed_transfer_ns);
    }
  return mean;
}

double compute_ms_of(const std::vector<analysis::Split>& splits) {
  double sum = 0;
  for (const analysis::Split& split : splits) sum += static_cast<double>(split.compute_ns());
  return sum / (kNsPerMs * static_cast<double>(splits.size()));
}

// What context-parallel ranks exchange while attention computes, mean over the ranks.
double under_attention_ms(const Trace& trace, const Windows& windows) {
  struct Rank {
    std::vector<analysis::Interval> exchanges, attention;
  };
  std::map<std::int32_t, Rank> ranks;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::int32_t rank = trace.tracks[trace.track(i)].rank;
    const Tag& tag = trace.tag(i);
    const analysis::Interval active = cut(trace, i, windows.at(rank));
    if (tag.kind == Kind::communication && tag.mode == Mode::cp) ranks[rank].exchanges.push_back(active);
    if (tag.kind == Kind::compute && name_of(tag.purpose).starts_with("attention_"))
      ranks[rank].attention.push_back(active);
  }
  double sum = 0;
  for (auto& [rank, of] : ranks)
    sum += static_cast<double>(
        intersect(analysis::IntervalSet(std::move(of.exchanges)), analysis::IntervalSet(std::move(of.attention)))
            .length());
  return sum / (kNsPerMs * static_cast<double>(windows.size()));
}

// When a rank's first backward pass begins and its last forward pass ends.
struct Turns {
  std::int64_t first_backward_ns = 0;
  std::int64_t last_forward_ns = 0;
};

std::map<std::int32_t, Turns> turns_of(const Trace& trace, const Windows& windows) {
  std::map<std::int32_t, Turns> turns;
  for (const auto& [rank, window] : windows) turns[rank] = {window.end_ns, window.begin_ns};
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::int32_t rank = trace.tracks[trace.track(i)].rank;
    const Tag& tag = trace.tag(i);
    if (tag.kind != Kind::compute || tag.microbatch < 0 || cut(trace, i, windows.at(rank)).length() <= 0) continue;
    Turns& of = turns[rank];
    if (tag.direction == Direction::backward)
      of.first_backward_ns = std::min(of.first_backward_ns, trace.start_ns()[i]);
    if (tag.direction == Direction::forward) of.last_forward_ns = std::max(of.last_forward_ns, trace.end_ns(i));
  }
  return turns;
}

// A rank's window, cut at its turns. A rank whose forward passes all come first has no steady state.
PipelinePhases phases_of(const Trace& trace, const Windows& last) {
  std::array<Windows, 3> phases{last, last, last};
  for (const auto& [rank, turn] : turns_of(trace, last)) {
    const std::int64_t steady_end = std::max(turn.first_backward_ns, turn.last_forward_ns);
    phases[0][rank].end_ns = phases[1][rank].begin_ns = turn.first_backward_ns;
    phases[1][rank].end_ns = phases[2][rank].begin_ns = steady_end;
  }
  const auto time_of = [&](const Windows& phase) { return modes_of(splits_of(trace, phase))["pp"]; };
  return {time_of(phases[0]), time_of(phases[1]), time_of(phases[2])};
}

std::string links_of(const plan::Matrix& matrix) {
  std::set<std::string> links;
  for (const plan::Cell& cell : matrix.cells) links.insert(link_text(cell.plan.config.run));
  return fmt::format("{}", fmt::join(links, "; "));
}

// One cell's ranks are in memory at a time.
void run_cell(const plan::Cell& cell, ClaimCell& into) {
  const plan::RunConfig& run = cell.plan.config.run;
  const auto session = make_session(std::span(&cell, 1), 0);
  session->run(0, -1, run.warmup);
  const report::BlockRun block = session->run(0, 0, run.steps + 1);
  report::RunResults results;
  report::CellResult& result = results.cells.emplace_back();
  result.name = cell.name;
  result.samples = samples_of(block, 0);
  const Trace trace = session->take_trace(0, ranks_of(block));
  into.run = summarize(results).front();
  const Windows last = last_windows(trace);
  const std::vector<analysis::Split> splits = splits_of(trace, last);
  into.modes = modes_of(splits);
  into.compute_ms = compute_ms_of(splits);
  into.cp_under_attention_ms = under_attention_ms(trace, last);
  if (cell.plan.config.parallel.pipeline_model_parallel_size > 1)
    into.phases = phases_of(trace, last);
  else
    into.chunks = chunks_of(trace, last);
  into.computed = computed_in(trace);
}

}  // namespace

LayerCut layer_cut(const plan::Config& config) {
  const plan::ModelParameters parameters = plan::list_parameters(config.model);
  const plan::BucketLayout layout = bucket_layout(config);
  LayerCut cut;
  for (const plan::Parameter& parameter : parameters.all)
    if (parameter.layer == 0) cut.layer_elements += parameter.elements();
  std::vector<std::int64_t> sizes;
  std::map<std::int32_t, int> buckets_of_layer;
  for (const plan::Bucket& bucket : layout.buckets) {
    std::set<std::int32_t> layers;
    for (const std::int32_t p : bucket.parameters) layers.insert(parameters.all[static_cast<std::size_t>(p)].layer);
    layers.erase(-1);
    for (const std::int32_t layer : layers) ++buckets_of_layer[layer];
    sizes.push_back(bucket.elements());
    cut.buckets_of_several_layers += layers.size() > 1 ? 1 : 0;
  }
  for (const auto& [layer, buckets] : buckets_of_layer) cut.layers_in_several_buckets += buckets > 1 ? 1 : 0;
  cut.buckets = std::ssize(sizes);
  cut.middle_bucket_elements = upper_median(sizes);
  return cut;
}

Evidence gather_evidence(const std::string& file, bool runs) {
  const plan::Matrix matrix = read_matrix(file, runs);
  Evidence evidence{.link = {}, .cells = {}, .not_run = {}, .knobs = plan::known_knobs()};
  if (runs) evidence.not_run = why_not_run(matrix);
  const bool is_run = runs && evidence.not_run.empty();
  if (is_run) evidence.link = links_of(matrix);
  for (const plan::Cell& cell : matrix.cells) {
    ClaimCell& found = evidence.cells.emplace_back();
    found.name = cell.name;
    found.values = {cell.values.begin(), cell.values.end()};
    found.plan = cell.plan;
    if (cell.plan.buckets.size() == 1) found.cut = layer_cut(cell.plan.config);
    if (is_run) run_cell(cell, found);
  }
  return evidence;
}

}  // namespace underlap::bench
