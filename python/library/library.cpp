// SPDX-License-Identifier: Apache-2.0
#include "python/library/underlap.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "platform/json.hpp"
#include "platform/table.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/steps/shown_step.hpp"
#include "profiler/analysis/steps/step_choice.hpp"
#include "profiler/attribution/attribution.hpp"
#include "profiler/attribution/mode_map.hpp"
#include "profiler/graph/details/details.hpp"
#include "profiler/input/trace_files.hpp"
#include "profiler/input/trace_input.hpp"
#include "profiler/page/timeline_svg.hpp"
#include "profiler/tables/arrow.hpp"
#include "profiler/tables/job_tables.hpp"

using namespace underlap;

struct UnderlapJob {
  nlohmann::json request;
  input::CellTrace traced;
  std::optional<graph::Details> details{};

  tables::Job tables_of() const { return {traced.trace, traced.summary, details ? &*details : nullptr}; }
};

namespace {

thread_local std::string error_text;

// Runs one call, and turns what it throws into a status.
template <class Call>
int status_of(Call call) {
  try {
    call();
    return UNDERLAP_OK;
  } catch (const Cancelled& cancelled) {
    error_text = cancelled.what();
    return UNDERLAP_CANCELLED;
  } catch (const std::invalid_argument& bad) {
    error_text = bad.what();
    return UNDERLAP_BAD_INPUT;
  } catch (const nlohmann::json::exception& bad) {
    error_text = bad.what();
    return UNDERLAP_BAD_INPUT;
  } catch (const std::exception& failure) {
    error_text = failure.what();
    return UNDERLAP_FAILED;
  }
}

// The caller's flag, which another of its threads sets.
class CallerWatch : public ReadingWatch {
 public:
  explicit CallerWatch(const int* cancelled) : cancelled_(cancelled) {}
  bool is_cancelled() const override {
    return cancelled_ != nullptr && __atomic_load_n(cancelled_, __ATOMIC_RELAXED) != 0;
  }

 private:
  const int* cancelled_;
};

input::AttributionOptionsOf attribution_options(const nlohmann::json& request) {
  attribution::AttributionOptions options;
  if (const std::string file = request.value("mode_map", ""); !file.empty())
    options.mode_map = attribution::read_mode_map(file);
  return [options](const Trace&) { return options; };
}

// The only cell of a run folder, or the one that was asked for.
input::CellTrace read_run(const std::string& folder, const nlohmann::json& request, ReadingWatch& watch,
                          const input::ReadOptions& read) {
  std::optional<std::string> cell;
  if (const std::string name = request.value("cell", ""); !name.empty()) cell = name;
  std::vector<std::string> names;
  std::optional<input::CellTrace> found;
  input::for_each_cell(
      folder, cell, attribution_options(request), watch,
      [&](input::CellTrace&& traced) {
        names.push_back(traced.cell);
        found.reset();
        if (names.size() == 1) found = std::move(traced);
      },
      read);
  if (names.size() > 1)
    throw std::invalid_argument(
        fmt::format("{} has several cells; choose one with cell=: {}", folder, fmt::join(names, ", ")));
  return std::move(*found);
}

input::CellTrace read(const nlohmann::json& request, input::Keep keep, const int* cancelled) {
  CallerWatch watch(cancelled);
  const auto paths = request.at("paths").get<std::vector<std::string>>();
  input::ReadOptions read{.keep = keep, .reasons = true};
  if (const std::string steps = request.value("steps", ""); !steps.empty())
    read.steps = analysis::step_choice_from(steps);
  if (paths.size() == 1 && input::is_run_folder(paths.front())) return read_run(paths.front(), request, watch, read);
  if (!request.value("cell", "").empty()) throw std::invalid_argument("cell= needs a run folder");
  return input::read_cell(input::trace_files(paths), attribution_options(request), watch, read);
}

// The details need all records. Reading drops some of a large job.
void find_details(UnderlapJob& job, const int* cancelled) {
  if (job.details) return;
  if (!job.traced.is_whole) job.traced = read(job.request, input::Keep::everything, cancelled);
  job.details =
      graph::find_details(job.traced.trace, *job.traced.summary.communications, job.traced.summary.shown_windows());
}

std::string json_of(const input::CellTrace& traced) {
  return attribution::with_attribution(analysis::analysis_json(traced.trace, traced.summary, traced.files),
                                       traced.attribution);
}

// The step that was asked for, in the first block that has it; else the median one.
std::string timeline_of(const input::CellTrace& traced, const nlohmann::json& options) {
  page::TimelineSvgRequest request{.width = options.value("width", 1100),
                                   .windows = traced.summary.shown_windows(),
                                   .communications = &*traced.summary.communications};
  const auto wanted = options.find("step");
  if (wanted == options.end() || wanted->is_null()) {
    const auto median = analysis::median_step(*traced.summary.communications, request.windows);
    if (!median) throw std::invalid_argument("the trace has no measured step");
    request.block = median->first.block;
    request.step = median->first.step;
  } else {
    request.step = wanted->get<std::int32_t>();
    for (const analysis::Window& window : request.windows | std::views::reverse)
      if (window.step == request.step) request.block = window.block;
  }
  return page::timeline_svg(traced.trace, request);
}

std::string text_of(UnderlapJob& job, const std::string& kind, const nlohmann::json& options, const int* cancelled) {
  const Trace& trace = job.traced.trace;
  const analysis::Summary& summary = job.traced.summary;
  if (kind == "json") return json_of(job.traced);
  if (kind == "details_json") {
    find_details(job, cancelled);
    return graph::with_details(json_of(job.traced), trace, summary, *job.details);
  }
  if (kind == "line") return analysis::one_line(summary);
  if (kind == "text")
    return analysis::analysis_table(trace, summary, {.width = options.value("width", 100), .unicode = true});
  if (kind == "svg") return timeline_of(job.traced, options);
  throw std::invalid_argument(fmt::format("\"{}\" is not the name of a text", kind));
}

tables::ColumnTable table_of(UnderlapJob& job, const std::string& name, const int* cancelled) {
  constexpr std::string_view kBy = "by ";
  if (name.starts_with(kBy)) return tables::breakdown_table(job.tables_of(), name.substr(kBy.size()));
  for (const tables::JobTable& table : tables::job_tables()) {
    if (table.name != name) continue;
    if (table.needs_details) find_details(job, cancelled);
    return table.make(job.tables_of());
  }
  throw std::invalid_argument(fmt::format("\"{}\" is not the name of a table", name));
}

}  // namespace

const char* underlap_version() { return UNDERLAP_VERSION; }

const char* underlap_error() { return error_text.c_str(); }

int underlap_load(const char* request, const int* cancelled, UnderlapJob** job) {
  return status_of([&] {
    auto made = std::make_unique<UnderlapJob>();
    made->request = parse_json(request);
    made->traced = read(made->request, input::Keep::by_size, cancelled);
    *job = made.release();
  });
}

void underlap_free_job(UnderlapJob* job) { delete job; }

int underlap_text(UnderlapJob* job, const char* kind, const char* options, const int* cancelled, char** text) {
  return status_of([&] {
    const std::string made = text_of(*job, kind, parse_json(options), cancelled);
    *text = static_cast<char*>(std::malloc(made.size() + 1));
    if (*text == nullptr) throw std::bad_alloc();
    std::memcpy(*text, made.c_str(), made.size() + 1);
  });
}

void underlap_free_text(char* text) { std::free(text); }

int underlap_table(UnderlapJob* job, const char* name, const int* cancelled, ArrowSchema* schema, ArrowArray* array) {
  return status_of([&] { tables::to_arrow(table_of(*job, name, cancelled), *schema, *array); });
}
