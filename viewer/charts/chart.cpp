// SPDX-License-Identifier: Apache-2.0
#include "viewer/charts/chart.hpp"

#include <fmt/format.h>

#include <QChart>

#include "profiler/trace/enum_names.hpp"

namespace underlap::viewer {
namespace {

constexpr EnumNames<ChartSource, 5> kSources{{"run", "trace", "comparison", "gate", "scaling report"}};

bool has(const ChartInput& input, ChartSource source) {
  switch (source) {
    case ChartSource::run: return input.run != nullptr && input.summaries != nullptr;
    case ChartSource::trace: return input.trace != nullptr && input.summary != nullptr;
    case ChartSource::comparison: return input.comparison != nullptr;
    case ChartSource::gate: return input.gate != nullptr;
    case ChartSource::scaling: return input.scaling != nullptr;
  }
  return false;
}

// "a run or a trace"
std::string sources_text(const std::vector<ChartSource>& sources) {
  std::vector<std::string> words;
  for (const ChartSource source : sources) words.push_back(fmt::format("a {}", kSources[source]));
  return fmt::format("{}", fmt::join(words, " or "));
}

std::vector<ChartSource> given(const ChartInput& input) {
  std::vector<ChartSource> sources;
  for (const ChartSource source :
       {ChartSource::run, ChartSource::trace, ChartSource::comparison, ChartSource::gate, ChartSource::scaling})
    if (has(input, source)) sources.push_back(source);
  return sources;
}

// Of a folder that is there, one that it holds.
std::string first_trace_of(const ChartInput& input) {
  if (input.run == nullptr) return "";
  const std::filesystem::path folder = input.name;
  const auto found = std::ranges::find_if(input.run->cells, [&](const report::CellResult& cell) {
    return !cell.trace_file.empty() &&
           (!std::filesystem::exists(folder) || std::filesystem::exists(folder / cell.trace_file));
  });
  return found == input.run->cells.end() ? "" : found->trace_file;
}

// What the user should give instead, if there is more to explain than the chart's needs.
std::string instead(const ChartKind& kind, const ChartInput& input) {
  const auto needs = [&](ChartSource source) { return std::ranges::find(kind.needs, source) != kind.needs.end(); };
  if (needs(ChartSource::trace) && input.run != nullptr) {
    const std::string file = first_trace_of(input);
    return file.empty() ? "; it has no trace: run it with run.trace"
                        : fmt::format("; give one of its traces, such as {}/{}", input.name, file);
  }
  if (needs(ChartSource::comparison)) return "; give two traces, or two runs and a cell of both";
  if (needs(ChartSource::gate)) return "; give two runs: --chart gate BASELINE CANDIDATE";
  if (needs(ChartSource::scaling)) return "; give run folders of one matrix at several sizes";
  if (needs(ChartSource::run)) return "; give a run folder, which contains results.json";
  return "";
}

std::string measured_text(std::string_view backend, const std::string& link) {
  return link.empty() ? fmt::format("measured: {}", backend) : fmt::format("measured: {}, link {}", backend, link);
}

std::string modelled_text(const std::string& link) {
  const std::string_view words = "modelled";
  const std::string on = link.starts_with("modelled: ") ? link.substr(words.size() + 2) : link;
  if (on.empty() || on == words) return "simulated: no time was measured";
  return fmt::format("simulated: {}; no time was measured", on);
}

std::string text_at(const std::map<std::string, std::string>& texts, const std::string& key) {
  const auto found = texts.find(key);
  return found == texts.end() ? "" : found->second;
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string with_name(const std::string& text, const std::string& name) {
  return name.empty() ? text : text + ", " + name;
}

// "5 blocks, quick/paced": follows how the figures were made.
std::string run_text(const ChartInput& input) {
  return with_name(counted(static_cast<std::size_t>(input.run->blocks_done), "block"), input.name);
}

// The same of a trace: "4 ranks, 12 steps, both.pftrace".
std::string trace_text(const ChartInput& input) {
  const auto& ranks = input.summary->shown();
  std::size_t steps = 0;
  for (const analysis::RankSummary& rank : ranks) steps = std::max(steps, rank.windows.size());
  const std::string text = counted(ranks.size(), "rank");
  return with_name(input.summary->shows_steps() ? text + ", " + counted(steps, "step") : text + ", no steps",
                   input.name);
}

}  // namespace

const ChartKind& chart_kind(std::string_view name) {
  const std::span<const ChartKind> kinds = chart_kinds();
  const auto found = std::ranges::find(kinds, name, &ChartKind::name);
  if (found != kinds.end()) return *found;
  std::vector<std::string_view> names;
  for (const ChartKind& kind : kinds) names.push_back(kind.name);
  throw std::invalid_argument(fmt::format("no chart \"{}\"; available: {}", name, fmt::join(names, ", ")));
}

bool fits(const ChartKind& kind, const ChartInput& input) {
  return std::ranges::any_of(kind.needs, [&](ChartSource source) { return has(input, source); });
}

Chart make_chart(std::string_view name, const ChartInput& input) {
  const ChartKind& kind = chart_kind(name);
  if (!fits(kind, input)) {
    const std::vector<ChartSource> is = given(input);
    throw std::invalid_argument(fmt::format("chart {} needs {}; {} is {}{}", name, sources_text(kind.needs),
                                            input.name.empty() ? "the input" : input.name,
                                            is.empty() ? "none of these" : sources_text(is), instead(kind, input)));
  }
  return {kind, kind.figures(input)};
}

std::unique_ptr<QChart> draw(const Chart& chart, const Theme& theme) {
  return std::unique_ptr<QChart>(chart.kind.draw(chart.figures, theme));
}

std::string how_made(const report::RunInfo& info) {
  const BackendTraits& backend = traits_of(info.backend);
  return backend.measures_time ? measured_text(backend.name, info.link) : modelled_text(info.link);
}

bool is_modelled(const Trace& trace) {
  const auto backend = backend_from(text_at(trace.metadata, "backend"));
  return backend && !traits_of(*backend).measures_time;
}

std::string how_made(const Trace& trace) {
  const std::string name = text_at(trace.metadata, "backend");
  const std::string link = text_at(trace.metadata, "link");
  if (const auto backend = backend_from(name))
    return traits_of(*backend).measures_time ? measured_text(name, link) : modelled_text(link);
  const std::string format = text_at(trace.metadata, "format");
  const std::string device = text_at(trace.metadata, "device_name");
  return fmt::format("measured elsewhere{}{}", format.empty() ? "" : ": a trace of " + format,
                     device.empty() ? "" : ", " + device);
}

std::string how_made(const report::ScalingReport& scaling) {
  std::set<std::string> measured, modelled;
  for (const report::ScaledCell& cell : scaling.cells)
    for (const report::ScaledPoint& scaled : cell.points) {
      const report::ScalingPoint& point = scaled.point;
      const std::string link = text_at(point.environment, "link");
      if (point.is_modelled)
        modelled.insert(modelled_text(link));
      else
        measured.insert(measured_text(point.backend, link));
    }
  if (measured.empty()) return fmt::format("{}", fmt::join(modelled, "; "));
  measured.insert(modelled.begin(), modelled.end());
  return fmt::format("{}", fmt::join(measured, "; "));
}

std::string how_made(const compare::RunFigures& run) {
  const std::string exact_link = text_at(run.environment, "link");
  const std::string link = exact_link.empty() ? text_at(run.kind, "link") : exact_link;
  return run.is_exact ? modelled_text(link) : measured_text(text_at(run.kind, "backend"), link);
}

ChartFigures headed(const std::string& title, const std::string& how, const std::string& of) {
  ChartFigures figures;
  figures.title = how.starts_with("simulated") ? title + " (simulated)" : title;
  figures.subtitle = how.empty() || of.empty() ? how + of : how + "; " + of;
  return figures;
}

ChartFigures headed(const std::string& title, const ChartInput& input) {
  return input.run != nullptr ? headed(title, how_made(input.run->info), run_text(input))
                              : headed(title, how_made(*input.trace), trace_text(input));
}

}  // namespace underlap::viewer
