// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <system_error>
#include <type_traits>

#include "platform/atomic_file.hpp"
#include "platform/fields/json_schema.hpp"
#include "platform/input/input_file.hpp"
#include "platform/json.hpp"
#include "platform/problems.hpp"
#include "platform/threads/on_all_cores.hpp"
#include "profiler/report/cut_windows.hpp"
#include "profiler/report/results_schema.hpp"
#include "profiler/report/run_folders.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::report {
namespace {

using fields::Cursor;
using Json = nlohmann::ordered_json;

constexpr EnumNames<NumericsLabel, 6> kLabels{
    {"reference", "bit_identical", "reordered", "lower_precision", "not_checked", "mismatch"}};
constexpr std::string_view kSchema = "underlap.results/1";

// Longer than any step: sums of such times stay in their 64 bits.
constexpr std::int64_t kLongestNs = std::int64_t{1} << 53;

/// Refuses counts and times below 0, wherever a field holds them.
struct NotNegative {
  const Cursor& from;

  void operator()(const char* key, std::int64_t value) const {
    if (value < 0) from.at(key).fail(fmt::format("is {}, must not be negative", value));
  }
  void operator()(const char* key, std::int32_t value) const { (*this)(key, std::int64_t{value}); }
  void operator()(const char* key, const std::optional<std::int64_t>& value) const { (*this)(key, value.value_or(0)); }
  void operator()(const char* key, const std::map<std::string, std::int64_t>& values) const {
    for (const auto& [name, value] : values) (*this)(key, value);
  }
  template <class T>
  void operator()(const char* key, const fields::NewerField<T>& field) const {
    (*this)(key, field.newer);
  }
  template <class T>
  void operator()(const char*, const T&) const {}
};

template <class T>
void check_not_negative(const Cursor& from, const T& value) {
  visit_fields(value, NotNegative{from});
}

void check_limit(const Cursor& from, const char* key, std::int64_t value) {
  if (value > kLongestNs) from.at(key).fail(fmt::format("is {}, must be at most 2^53", value));
}

// Steps are unique, and sorted by block and step.
void check_steps(const std::vector<Cursor>& from, const std::vector<StepSample>& samples, std::int32_t blocks_done) {
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const StepSample& sample = samples[s];
    if (sample.block < 0 || sample.block >= blocks_done)
      from[s].at("block").fail(fmt::format("is {}, but {} blocks were done", sample.block, blocks_done));
    if (s == 0) continue;
    const StepSample& before = samples[s - 1];
    if (std::pair(sample.block, sample.step) <= std::pair(before.block, before.step))
      from[s].fail(fmt::format("is step {} of block {}, but follows step {} of block {}", sample.step, sample.block,
                               before.step, before.block));
  }
}

// The first step whose number of ranks differs from that of the cell's first step.
std::optional<std::size_t> first_step_of_other_ranks(const CellResult& cell) {
  const auto other = std::ranges::find_if(
      cell.samples, [&](const StepSample& sample) { return sample.ranks.size() != cell.samples.front().ranks.size(); });
  return other == cell.samples.end() ? std::nullopt : std::optional<std::size_t>(other - cell.samples.begin());
}

// Whether the numbers of ranks contradict each other; 0 is unknown.
bool has_contradictory_ranks(const CellResult& cell) {
  const std::size_t measured = cell.samples.empty() ? 0 : cell.samples.front().ranks.size();
  if (cell.num_ranks_played == 0) return false;
  return (cell.num_ranks > 0 && cell.num_ranks_played > cell.num_ranks) ||
         (measured > 0 && std::cmp_not_equal(measured, cell.num_ranks_played));
}

void check_ranks(const Cursor& root, const RunResults& results) {
  for (std::size_t c = 0; c < results.cells.size(); ++c) {
    const CellResult& cell = results.cells[c];
    if (has_contradictory_ranks(cell))
      root.at("cells")
          .elements()[c]
          .at("num_ranks_played")
          .fail(fmt::format("is {}, but the cell has {} ranks, and its steps {}", cell.num_ranks_played, cell.num_ranks,
                            cell.samples.empty() ? 0 : cell.samples.front().ranks.size()));
    const auto step = first_step_of_other_ranks(cell);
    if (!step) continue;
    const std::vector<StepSample>& samples = cell.samples;
    root.at("cells").elements()[c].at("samples").elements()[*step].at("ranks").fail(fmt::format(
        "has {} ranks, but the cell's first step has {}", samples[*step].ranks.size(), samples.front().ranks.size()));
  }
}

void check_blocks(const Cursor& root, const RunResults& results) {
  if (results.blocks_done < 0 || results.blocks_done > results.blocks_planned)
    root.at("blocks_done").fail(fmt::format("is {}, outside 0 to blocks_planned", results.blocks_done));
  const auto cells = root.at("cells").elements();
  if (cells.empty()) root.at("cells").fail("is empty: a run needs at least one cell");
  for (const std::int32_t block : results.resumed_at_blocks)
    if (block < 0 || block > results.blocks_planned)
      root.at("resumed_at_blocks").fail(fmt::format("contains {}, outside 0 to blocks_planned", block));
  std::set<std::string> names;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (!names.insert(results.cells[c].name).second)
      cells[c].at("name").fail(
          fmt::format("is a duplicate: two cells are named {}", json_text(Json(results.cells[c].name))));
    check_steps(cells[c].at("samples").elements(), results.cells[c].samples, results.blocks_done);
  }
}

}  // namespace

// The readers in json_fields.hpp find these by the type that they read.

void check(const Cursor& from, const StepSample& sample) {
  check_not_negative(from, sample);
  if (sample.step_ns > kLongestNs) from.at("step_ns").fail(fmt::format("is {}, above the maximum", sample.step_ns));
}

// A trace that is read and cut together with the results must be inside the folder of the run.
void check(const Cursor& from, const CellResult& cell) {
  check_not_negative(from, cell);
  const std::filesystem::path file = cell.trace_file;
  const bool is_within = file.is_relative() && std::find(file.begin(), file.end(), "..") == file.end();
  if (!is_within)
    from.at("trace_file").fail(fmt::format("is {}, outside the folder of the run", yaml::in_quotes(cell.trace_file)));
}

void check(const Cursor& root, const RunResults& results) {
  check_blocks(root, results);
  check_ranks(root, results);
}

void check(const Cursor& from, const RunInfo& info) { check_not_negative(from, info); }

void check(const Cursor& from, const ComputeSinceOff& compute) { check_not_negative(from, compute); }

void check(const Cursor& from, const StepWork& work) { check_not_negative(from, work); }

}  // namespace underlap::report

namespace underlap::analysis {

void check(const fields::Cursor& from, const CommunicationSplit& split) {
  report::check_not_negative(from, split);
  visit_fields(split, [&](const char* key, const auto& value) {
    if constexpr (std::is_same_v<decltype(value), const std::int64_t&>)
      report::check_limit(from, key, value);
    else
      report::check_limit(from, key, value.newer);
  });
}

void check(const fields::Cursor& from, const Split& split) {
  report::check_not_negative(from, split);
  if (split.window_ns > report::kLongestNs)
    from.at("window_ns").fail(fmt::format("is {}, above the maximum", split.window_ns));
  for (const std::int64_t part : {split.compute_only_ns, split.hidden_ns, split.copy_only_ns, split.idle_ns})
    if (part > split.window_ns) from.fail(fmt::format("has a part of {} ns in {} ns", part, split.window_ns));
  const std::int64_t sum =
      split.compute_only_ns + split.hidden_ns + split.exposed_ns() + split.copy_only_ns + split.idle_ns;
  if (sum != split.window_ns)
    from.fail(fmt::format("is a split whose parts sum to {} ns, but its window is {} ns", sum, split.window_ns));
}

}  // namespace underlap::analysis

namespace underlap::report {
namespace {

using fields::encode, fields::decode;

RunResults results_in(const Json& document, const std::filesystem::path& file) {
  return fields::parse_document<RunResults>(kSchema, document, file.string(), "version 1");
}

// A thousand ranks' windows as one document take more memory than a machine may have, and a while.
void decode_windows(const std::vector<std::string_view>& windows, const std::vector<StepSample*>& samples) {
  on_all_cores(windows.size(), [&](std::size_t i) { decode(Cursor(parse_json(windows[i]), ""), samples[i]->ranks); });
}

// Nullopt where anything is wrong: which, and where, the whole document shows.
std::optional<RunResults> well_formed(const std::string& text, const std::filesystem::path& file) try {
  const CutResults cut = cut_windows(text);
  RunResults results = results_in(parse_json(cut.rest), file);
  std::vector<StepSample*> samples;
  for (CellResult& cell : results.cells)
    for (StepSample& sample : cell.samples) samples.push_back(&sample);
  if (samples.size() != cut.windows.size()) return std::nullopt;
  decode_windows(cut.windows, samples);
  if (std::ranges::any_of(results.cells, [](const CellResult& cell) {
        return first_step_of_other_ranks(cell).has_value() || has_contradictory_ranks(cell);
      }))
    return std::nullopt;
  return results;
} catch (const std::invalid_argument&) {
  return std::nullopt;
} catch (const Json::exception&) {
  return std::nullopt;
} catch (const std::system_error&) {
  return std::nullopt;
}

void add_statistics(Json& cells, const RunResults& results) {
  const std::vector<CellSummary> summaries = summarize(results);
  const std::vector<PairAnswer> answers = answers_of(results, summaries);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    Json& statistics = cells[i]["statistics"] = encode(summaries[i]);
    const auto answer = std::ranges::find(answers, summaries[i].name, &PairAnswer::cell);
    statistics["answer"] = answer == answers.end() ? Json(nullptr) : encode(*answer);
  }
}

}  // namespace

std::string_view to_string(NumericsLabel label) { return kLabels[label]; }

std::string numerics_text(NumericsLabel label, double max_loss_difference) {
  const bool differs =
      label == NumericsLabel::reordered || label == NumericsLabel::lower_precision || label == NumericsLabel::mismatch;
  return differs ? fmt::format("{} {:.1e}", to_string(label), max_loss_difference) : std::string(to_string(label));
}

std::vector<std::pair<std::string, std::int32_t>> launched_nodes(const std::vector<LaunchedRank>& ranks) {
  std::vector<std::pair<std::string, std::int32_t>> nodes;
  for (const LaunchedRank& rank : ranks) {
    const auto known = std::ranges::find(nodes, rank.node, &std::pair<std::string, std::int32_t>::first);
    known == nodes.end() ? void(nodes.emplace_back(rank.node, 1)) : void(++known->second);
  }
  return nodes;
}

const std::vector<LaunchedRank>& launched_ranks_of(const RunInfo& info, const CellResult& cell) {
  return cell.own_allocation ? cell.own_allocation->ranks : info.launched_ranks;
}

std::int32_t blocks_of(const CellResult& cell) { return cell.samples.empty() ? 0 : cell.samples.back().block + 1; }

std::string results_text(const RunResults& results, Statistics statistics) {
  Json document = fields::document(kSchema, results);
  if (statistics == Statistics::included) add_statistics(document["cells"], results);
  return json_text(document, 1) + "\n";
}

std::string results_json_schema() {
  Json document = fields::document_schema<RunResults>(kSchema);
  Json& statistics = document[Json::json_pointer("/properties/cells/items/properties/statistics")];
  statistics = fields::schema_of<CellSummary>();
  statistics["properties"]["answer"] = fields::or_null(fields::schema_of<PairAnswer>());
  return json_text(document, 1) + "\n";
}

void write_results(const std::filesystem::path& folder, const RunResults& results, Statistics statistics) {
  write_file_atomically(folder / kResultsFile, results_text(results, statistics));
  for (const std::string_view compressed : std::span(kResultsFiles).subspan(1)) {
    std::error_code ignored;  // a compressed copy that stays does no harm: the plain file is read first
    std::filesystem::remove(folder / compressed, ignored);
  }
}

// {"schema": "underlap.results/1", "run": {"backend": "cuda", ...}, "blocks_planned": 5, "blocks_done": 5, ...,
//  "cells": [{"name": "on", ..., "samples": [{"block": 0, "step": 3, "step_ns": 103682654, ..., "ranks": [{...}]}]}]}
RunResults read_results(const std::filesystem::path& folder) try {
  const std::filesystem::path file = find_results(folder).value_or(folder / kResultsFile);
  const std::string text = read_input_file(file, {.memory_factor = kJsonMemoryFactor});
  if (std::optional<RunResults> results = well_formed(text, file)) return std::move(*results);
  return results_in(parse_json_of(file, text), file);
} catch (const std::invalid_argument& error) {
  throw std::invalid_argument(fmt::format("{}; fix the file, or measure into another folder", error.what()));
}

}  // namespace underlap::report
