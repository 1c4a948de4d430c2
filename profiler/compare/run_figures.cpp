// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/run_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "platform/json.hpp"
#include "profiler/analysis/trace_summary.hpp"
#include "profiler/report/cell_summary.hpp"
#include "profiler/report/samples.hpp"

namespace underlap::compare {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr const char* kRanks = "ranks";
constexpr const char* kTraceCell = "trace";

// FNV-1a: short, and the same on every machine.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    hash_ = (hash_ ^ 0xFFU) * 0x100000001B3U;  // no text has it: where one ends
  }
  void add(std::int64_t number) { add(std::to_string(number)); }
  void add(const std::map<std::string, std::int64_t>& numbers) {
    for (const auto& [key, number] : numbers) add(key), add(number);
  }
  void add(const std::map<std::string, analysis::CommunicationSplit>& parts) {
    for (const auto& [key, part] : parts) {
      add(key);
      for (const std::int64_t number : {part.comm_ns, part.exposed_ns, part.exposed_wait_ns, part.exposed_transfer_ns,
                                        part.bytes_on_wire, part.count})
        add(number);
    }
  }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325U;
};

std::string schedule_of(const report::CellResult& cell) {
  Hash hash;
  for (const report::StepSample& sample : cell.samples) {
    hash.add(sample.step_ns);
    for (const analysis::Split& split : sample.ranks) {
      for (const std::int64_t number : {split.window_ns, split.compute_only_ns, split.hidden_ns, split.copy_only_ns})
        hash.add(number);
      hash.add(split.exposed_ns_by_modes);
      hash.add(split.modes);
      hash.add(split.purposes);
    }
  }
  hash.add(cell.kernel_ns);
  return hash.text();
}

// Whether a knob describes the work, and not how it is done.
bool is_work(std::string_view knob) {
  return knob.starts_with("model.") || knob.starts_with("train.") || knob.ends_with("parallel_size");
}

// The number of steps and the timeouts of a run do not affect a step. The backend, and whether data is sent, are not
// compared as knobs.
bool is_of_the_run_alone(std::string_view knob) {
  constexpr std::array<std::string_view, 6> kOfTheRun{"run.steps",   "run.blocks",         "run.warmup",
                                                      "run.backend", "run.peer_timeout_s", "run.no_comm"};
  return std::ranges::find(kOfTheRun, knob) != kOfTheRun.end();
}

void read_plan(const report::CellResult& cell, CellFigures& figures) {
  figures.work[kRanks] = std::to_string(cell.num_ranks);
  figures.work[kWithoutTransfers] = cell.no_comm ? "yes" : "no";
  const nlohmann::ordered_json plan = parse_json_or_discard(cell.plan_json);
  if (!plan.is_object() || !plan.contains("knobs")) return;
  for (const auto& knob : plan["knobs"]) {
    const std::string name = knob.value("name", std::string());
    if (name.empty() || is_of_the_run_alone(name) || !knob.contains("effective")) continue;
    (is_work(name) ? figures.work : figures.knobs)[name] = json_text(knob["effective"]);
    if (!is_work(name) && knob.value("source", std::string()) == "auto") figures.derived_knobs.push_back(name);
  }
}

// Durations that vary at random are measured, if in virtual time.
bool varies_at_random(const CellFigures& cell) {
  const auto jitter = cell.knobs.find("run.jitter_pct");
  return jitter != cell.knobs.end() && std::strtod(jitter->second.c_str(), nullptr) > 0;
}

// Earlier results lack this number; in them no step was left out.
std::int64_t kernel_windows_of(const report::CellResult& cell) {
  if (cell.kernel_windows > 0) return cell.kernel_windows;
  std::int64_t windows = 0;
  for (const report::StepSample& sample : cell.samples) windows += static_cast<std::int64_t>(sample.ranks.size());
  return std::max<std::int64_t>(windows, 1);
}

// Mean over counted steps and ranks; absent where nothing was recorded.
std::optional<double> copies_ns(const report::CellResult& cell) {
  const report::Steps stalled = report::stalled_steps(cell);
  double sum = 0, windows = 0;
  for (const report::StepSample& sample : cell.samples)
    if (!stalled.contains({sample.block, sample.step}))
      for (const analysis::Split& split : sample.ranks) {
        sum += static_cast<double>(split.copy_only_ns);
        ++windows;
      }
  return windows > 0 ? std::optional(sum / windows) : std::nullopt;
}

std::vector<OperationFigure> operations_of(const report::CellResult& cell, const report::CellSummary& summary) {
  std::vector<OperationFigure> operations;
  for (const auto& [purpose, part] : summary.purposes)
    operations.push_back({.name = purpose,
                          .is_communication = true,
                          .busy_ns = part.comm_ms * kNsPerMs,
                          .exposed_ns = part.exposed_ms * kNsPerMs,
                          .count = part.count,
                          .bytes = part.bytes_on_wire});
  const auto windows = static_cast<double>(kernel_windows_of(cell));
  for (const auto& [purpose, ns] : cell.kernel_ns)
    operations.push_back({.name = purpose, .busy_ns = static_cast<double>(ns) / windows});
  if (const auto copies = copies_ns(cell)) operations.push_back({.name = kCopies, .busy_ns = *copies});
  return operations;
}

CellFigures figures_of_cell(const report::CellResult& cell, const report::CellSummary& summary) {
  CellFigures figures{.name = cell.name};
  read_plan(cell, figures);
  figures.metrics["step"] = summary.step_ms->value * kNsPerMs;
  if (summary.exposed_ms) figures.metrics["exposed"] = summary.exposed_ms->value * kNsPerMs;
  for (const auto& [mode, part] : summary.modes) figures.metrics["exposed." + mode] = part.exposed_ms * kNsPerMs;
  if (summary.efficiency) figures.metrics["efficiency"] = summary.efficiency->value;
  if (summary.bytes_on_wire) figures.metrics["bytes"] = *summary.bytes_on_wire;
  figures.numerics =
      report::to_string(report::non_finite_loss(cell).empty() ? cell.label : report::NumericsLabel::mismatch);
  figures.max_loss_difference = cell.max_loss_difference;
  figures.operations = operations_of(cell, summary);
  return figures;
}

void check_is_whole(const report::RunResults& results, const std::string& source) {
  const auto refuse = [&](const std::string& why) { throw std::invalid_argument(source + ": " + why); };
  if (results.cells.empty()) refuse("has no cells\n  measure it again: underlap run CONFIG -o DIR");
  if (results.blocks_done < results.blocks_planned)
    refuse(fmt::format("only {} of {} blocks are done\n  finish the run: {} --resume", results.blocks_done,
                       results.blocks_planned, results.info.command));
  for (const report::CellResult& cell : results.cells) {
    if (cell.samples.empty()) refuse(fmt::format("cell {} has no measured steps\n  measure it again", cell.name));
    if (!cell.invalid_because.empty())
      refuse(fmt::format("the times of cell {} are invalid: {}\n  measure it again", cell.name,
                         cell.invalid_because.front()));
  }
}

// "paced to 4 Gbit/s" is of the kind "paced", "modelled: h100-sxm" of "modelled".
std::string kind_of_link(const std::string& link) { return link.substr(0, link.find_first_of(" :")); }

// The steps of a trace, with the splits of counted ones.
std::vector<report::StepSample> samples_of(const analysis::Summary& summary) {
  std::vector<const analysis::Split*> splits;
  for (const analysis::RankSummary& rank : summary.shown())
    for (const analysis::Split& split : rank.splits) splits.push_back(&split);
  std::vector<report::StepSample> samples;
  for (const analysis::JobStep& step : summary.job_steps) {
    report::StepSample& sample = samples.emplace_back();
    sample.block = step.block;
    sample.step = step.step;
    sample.step_ns = step.step_ns;
    for (const std::size_t window : step.windows) sample.ranks.push_back(*splits[window]);
  }
  // What is stalled is so among all steps: without these, more of the others would be.
  for (const analysis::StalledStep& stalled : summary.stalled) {
    report::StepSample& sample = samples.emplace_back();
    sample.block = stalled.step.block;
    sample.step = stalled.step.step;
    sample.step_ns = stalled.step.step_ns;
  }
  return samples;
}

// By purpose, and by the kernel's name where there is none.
std::map<std::string, std::int64_t> kernels_of(const Trace& trace, const std::vector<analysis::Window>& windows) {
  const analysis::ComputeTimes times = analysis::compute_times(trace, windows);
  std::map<std::string, std::int64_t> kernels;
  for (const auto& [place, pieces] : times.places()) {
    const NameId name = place.purpose == kNoName ? place.name : place.purpose;
    for (const auto& [piece, kernel] : pieces) kernels[std::string(name_of(name))] += kernel.ns;
  }
  return kernels;
}

Backend backend_of(const Trace& trace) {
  const auto found = trace.metadata.find("backend");
  return found == trace.metadata.end() ? Backend::cuda : backend_from(found->second).value_or(Backend::cuda);
}

std::string said(const Trace& trace, const std::string& key, const std::string& otherwise) {
  const auto found = trace.metadata.find(key);
  return found == trace.metadata.end() ? otherwise : found->second;
}

// Of metadata_of() below; empty where the trace does not have it.
std::map<std::string, std::string> facts_in(const Trace& trace, const std::string& key) {
  std::map<std::string, std::string> facts;
  const nlohmann::ordered_json json = parse_json_or_discard(said(trace, key, ""));
  if (!json.is_object()) return facts;
  for (const auto& [name, value] : json.items())
    if (value.is_string()) facts[name] = value.get<std::string>();
  return facts;
}

// If the number of ranks of the job is unknown, uses the number of ranks in the trace.
std::map<std::string, std::string> work_of(const Trace& trace) {
  std::map<std::string, std::string> work = facts_in(trace, "work");
  if (!work.empty()) return work;
  const std::string world_size = said(trace, "world_size", "");
  if (world_size.empty())
    work["ranks in the trace"] = std::to_string(analysis::ranks_of(trace).size());
  else
    work[kRanks] = world_size;
  return work;
}

}  // namespace

RunFigures figures_of(const report::RunResults& results, const std::string& source) {
  check_is_whole(results, source);
  const report::RunInfo& info = results.info;
  RunFigures figures{.source = source,
                     .is_exact = !traits_of(info.backend).measures_time,
                     .command = info.command,
                     .commit = info.commit,
                     .commit_utc = info.commit_utc,
                     .started_utc = info.started_utc,
                     .series = info.series,
                     .series_run = info.series_run,
                     .series_side = info.series_side};
  figures.kind = {{"backend", std::string(to_string(info.backend))}, {"link", kind_of_link(info.link)}};
  figures.environment = {{"machine", info.host_name_hash},
                         {"processor", info.cpu_model},
                         {"CPUs", std::to_string(info.num_cpus)},
                         {"operating system", info.operating_system},
                         {"compiler", info.compiler},
                         {"version", info.version},
                         {"link", info.link},
                         {"clock", info.clock}};
  if (!info.gpu_model.empty()) figures.environment["GPU"] = info.gpu_model;
  for (const auto& [library, version] : info.library_versions) figures.environment[library] = version;
  for (const auto& [path, hash] : info.input_hashes) figures.environment[kContentsOf + path] = hash;
  const std::vector<report::CellSummary> summaries = report::summarize(results);
  for (std::size_t i = 0; i < results.cells.size(); ++i)
    figures.cells.push_back(figures_of_cell(results.cells[i], summaries[i]));
  figures.is_exact = figures.is_exact && std::ranges::none_of(figures.cells, varies_at_random);
  for (std::size_t i = 0; figures.is_exact && i < results.cells.size(); ++i)
    figures.cells[i].schedule = schedule_of(results.cells[i]);
  return figures;
}

std::map<std::string, std::string> metadata_of(const report::CellResult& cell) {
  CellFigures figures;
  read_plan(cell, figures);
  return {{"work", json_text(nlohmann::ordered_json(figures.work))},
          {"knobs", json_text(nlohmann::ordered_json(figures.knobs))}};
}

RunFigures facts_of(const Trace& trace, const std::string& source) {
  RunFigures facts{.source = source, .read_from = std::filesystem::absolute(source)};
  facts.kind = {{"backend", said(trace, "backend", "foreign trace")},
                {"link", kind_of_link(said(trace, "link", "real"))}};
  for (const char* key : {"link", "clock", "device_name"})
    if (const std::string value = said(trace, key, ""); !value.empty()) facts.environment[key] = value;
  facts.cells = {{.name = kTraceCell, .work = work_of(trace), .knobs = facts_in(trace, "knobs")}};
  facts.is_exact = !traits_of(backend_of(trace)).measures_time && !varies_at_random(facts.cells.front());
  return facts;
}

RunFigures figures_of(const Trace& trace, const analysis::Summary& summary, const std::string& cell_name,
                      const std::string& source) {
  if (!summary.shows_steps())
    throw std::invalid_argument(
        source + ": no steps were found in this trace\n  a comparison needs steps; see `underlap analyze`");
  report::RunResults results;
  results.info.backend = backend_of(trace);
  report::CellResult cell;
  cell.name = cell_name;
  cell.samples = samples_of(summary);
  cell.kernel_ns = kernels_of(trace, summary.shown_windows());
  cell.kernel_windows = static_cast<std::int64_t>(summary.shown_windows().size());
  results.cells = {std::move(cell)};
  RunFigures figures = facts_of(trace, source);
  CellFigures of_cell = figures_of(results, source).cells.front();
  of_cell.work = std::move(figures.cells.front().work);
  of_cell.knobs = std::move(figures.cells.front().knobs);
  of_cell.numerics.clear();
  if (!figures.is_exact) of_cell.schedule.clear();
  figures.cells = {std::move(of_cell)};
  return figures;
}

}  // namespace underlap::compare
