// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/document.hpp"

#include <system_error>
#include <thread>

#include "profiler/analysis/analysis.hpp"
#include "profiler/gate/named_runs.hpp"
#include "profiler/gate/reports.hpp"
#include "profiler/input/trace_files.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::viewer {
namespace {

namespace fs = std::filesystem;

std::string title_of(const std::string& path) {
  const fs::path named = fs::path(path).lexically_normal();
  return named.has_filename() ? named.filename().string() : named.parent_path().filename().string();
}

std::string title_of_two(const std::string& baseline, const std::string& candidate) {
  return baseline == candidate ? candidate + " vs. its earlier version" : candidate + " vs. " + baseline;
}

template <class Kind>
std::shared_ptr<Kind> make_document(const std::string& path, const std::string& title) {
  auto document = std::make_shared<Kind>();
  document->path = path;
  document->title = title;
  return document;
}

// What of runs was read: of a series that of each of its runs.
void add_result_files(const fs::path& path, std::vector<std::string>& files) {
  if (!fs::is_directory(path)) return files.push_back(path.string());
  if (fs::exists(path / gate::kBaselineFile)) files.push_back((path / gate::kBaselineFile).string());
  for (const fs::path& folder : report::run_folders(path)) files.push_back(report::find_results(folder)->string());
}

unsigned num_threads() { return std::max(1U, std::thread::hardware_concurrency()); }

compare::NamedTrace named(const TraceDocument& document) {
  return {document.path, {document.traced.trace, document.traced.summary}};
}

}  // namespace

DocumentKind kind_of(const std::string& path) {
  const fs::path named = path;
  if (report::is_results_file(named) || report::find_results(named)) return DocumentKind::run;
  return named.extension() == ".json" && gate::is_gate_file(named) ? DocumentKind::gate : DocumentKind::trace;
}

std::string run_of_traces(const std::string& folder) {
  fs::path traces = fs::path(folder).lexically_normal();
  if (!traces.has_filename()) traces = traces.parent_path();
  std::error_code ignored;
  const bool is_of_run = traces.filename() == "traces" && fs::is_directory(traces, ignored);
  return is_of_run && report::find_results(traces.parent_path()) ? traces.parent_path().string() : "";
}

std::shared_ptr<TraceDocument> open_trace(const std::string& path, ReadingWatch& watch, attribution::ModeMap mode_map) {
  if (gate::holds_runs(path))
    throw std::invalid_argument(path +
                                ": is a saved baseline or contains several runs; open one of the runs, or choose it as "
                                "a baseline\n  underlap view --compare BASELINE CANDIDATE");
  auto document = make_document<TraceDocument>(path, title_of(path));
  document->mode_map = std::move(mode_map);
  const auto options = [&](const Trace&) { return attribution::AttributionOptions{.mode_map = document->mode_map}; };
  document->traced = input::read_cell(input::trace_files({path}), options, watch, {.reasons = true});
  document->files = document->traced.files;
  if (!document->traced.cell.empty()) document->title = document->traced.cell;
  document->headline = analysis::headline(document->traced.trace, document->traced.summary);
  watch.say("laying out");
  document->timeline =
      std::make_unique<Timeline>(document->traced.trace, document->traced.summary, num_threads(), Reading(watch));
  return document;
}

std::shared_ptr<TraceDocument> part_of(const std::string& path, const Trace& so_far) {
  auto document = make_document<TraceDocument>(path, title_of(path));
  document->is_partial = true;
  document->traced.trace = so_far;
  document->timeline = std::make_unique<Timeline>(document->traced.trace, document->traced.summary, num_threads());
  return document;
}

std::shared_ptr<RunDocument> open_run(const std::string& folder) {
  const std::string path = report::folder_of_run(folder).string();
  auto document = make_document<RunDocument>(path, title_of(path));
  document->results = report::read_results(path);
  document->files = {report::find_results(path).value_or(fs::path(path) / report::kResultsFile).string()};
  document->summaries = report::summarize(document->results);
  return document;
}

std::shared_ptr<GateDocument> open_gate(const std::string& file) {
  auto document = make_document<GateDocument>(file, title_of(file));
  document->report = gate::read_gate(file);
  document->files = {file};
  return document;
}

std::shared_ptr<GateDocument> judge_runs(const std::string& baseline, const std::string& candidate, bool is_forced,
                                         ReadingWatch& watch) {
  auto document = make_document<GateDocument>(candidate, title_of_two(title_of(baseline), title_of(candidate)));
  const std::vector<compare::RunFigures> before = gate::runs_named(baseline, watch);
  const std::vector<compare::RunFigures> now = gate::runs_named(candidate, watch);
  watch.say("judging");
  document->report = gate::run_gate(before, now, {.is_forced = is_forced});
  for (const std::string& path : {baseline, candidate}) add_result_files(path, document->files);
  return document;
}

std::shared_ptr<ScalingDocument> scale_runs(const std::vector<std::string>& paths, bool is_forced,
                                            ReadingWatch& watch) {
  auto document = make_document<ScalingDocument>(
      paths.front(), "scaling of " + std::to_string(paths.size()) + (paths.size() == 1 ? " run" : " runs"));
  document->report = report::read_scaling(paths, is_forced, [&](const std::string& run) {
    if (watch.is_cancelled()) throw Cancelled();
    watch.say("reading " + run);
  });
  for (const std::string& path : paths) add_result_files(path, document->files);
  return document;
}

std::shared_ptr<CompareDocument> compare_documents(std::shared_ptr<const TraceDocument> from,
                                                   std::shared_ptr<const TraceDocument> to, bool is_forced) {
  auto document = make_document<CompareDocument>(to->path, title_of_two(from->title, to->title));
  document->report = compare::report_of_traces(named(*from), named(*to), is_forced);
  document->files = from->files;
  document->files.insert(document->files.end(), to->files.begin(), to->files.end());
  document->from = std::move(from);
  document->to = std::move(to);
  return document;
}

std::string trace_file_of(const RunDocument& document, std::size_t cell) {
  const std::string& file = document.results.cells.at(cell).trace_file;
  return report::find_trace(document.path, file).value_or("").string();
}

}  // namespace underlap::viewer
