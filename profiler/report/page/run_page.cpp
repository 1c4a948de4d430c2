// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/page/run_page.hpp"

#include <fmt/format.h>

#include "platform/text/escape.hpp"
#include "profiler/page/html.hpp"
#include "profiler/report/answer.hpp"
#include "profiler/report/report.hpp"

namespace underlap::report {
namespace {

std::string kind_of_times(const RunInfo& info) {
  const BackendTraits& backend = traits_of(info.backend);
  const std::string link = fmt::format("Backend {}; link {}.", backend.name, markup_text(info.link));
  if (!backend.measures_time)
    return fmt::format(
        "<p class=\"kind modelled\"><strong>Simulated:</strong> nothing ran; all times are computed. {}</p>\n", link);
  return fmt::format("<p class=\"kind\"><strong>Measured</strong> on {}. {}</p>\n",
                     backend.runs_on_gpus ? "GPUs" : "the CPUs of one machine", link);
}

std::vector<page::Fact> facts(const RunInfo& info) {
  return {{"command", info.command},
          {"Underlap", fmt::format("{}, commit {}", info.version, info.commit)},
          {"started", info.started_utc},
          {"machine", fmt::format("{}, {} CPUs, host {}", info.cpu_model, info.num_cpus, info.host_name_hash)},
          {"system", fmt::format("{}; {}", info.operating_system, info.compiler)},
          {"clock", info.clock},
          {"seed", std::to_string(info.seed)},
          {"configuration", info.config_hash}};
}

// What the run showed, in sentences.
std::string answers_html(const RunResults& results, const std::vector<CellSummary>& summaries) {
  const std::vector<PairAnswer> answers = answers_of(results, summaries);
  if (answers.empty()) return "";
  const std::string found = page::paragraph(headline(answers), "found");
  if (answers.size() == 1) return found;
  std::vector<std::string> sentences;
  for (const PairAnswer& answer : answers) sentences.push_back(answer_text(answer));
  return found + page::list(sentences);
}

std::string tables(const RunResults& results, const std::vector<CellSummary>& summaries) {
  std::string text;
  for (const ReportSection& section : report_sections(results, summaries))
    text += page::heading(2, section.title) + page::paragraph(section.about, "soft") +
            page::html_table(section.table, {.name = section.title});
  return text;
}

std::string notes(const RunResults& results) {
  std::string text;
  for (const CellResult& cell : results.cells)
    for (const std::string& note : cell.notes) text += fmt::format("{}: {}\n", cell.name, note);
  return text.empty() ? text : page::heading(2, "Notes") + page::preformatted(text);
}

}  // namespace

std::string report_html(const RunResults& results) {
  const std::vector<CellSummary> summaries = summarize(results);
  const std::string title = fmt::format("Underlap run: {} backend, {} cell{}", to_string(results.info.backend),
                                        results.cells.size(), results.cells.size() == 1 ? "" : "s");
  std::string text = kind_of_times(results.info) + page::preformatted(results.info.command);
  const std::string note = interval_note(results);
  text += page::paragraph(fmt::format("{} of {} block{}{}{}. Commit {}; {}, {} CPUs; {}.", results.blocks_done,
                                      results.blocks_planned, results.blocks_planned == 1 ? "" : "s",
                                      note.empty() ? "" : "; ", note, results.info.commit, results.info.cpu_model,
                                      results.info.num_cpus, results.info.started_utc));
  if (const std::string warnings = report_warnings(results); !warnings.empty()) text += page::preformatted(warnings);
  text += answers_html(results, summaries) + pictures(results, summaries) + tables(results, summaries) + notes(results);
  text += page::glossary(page::step_terms()) + page::facts_section("Machine", facts(results.info));
  return page::html_page(title, text);
}

}  // namespace underlap::report
