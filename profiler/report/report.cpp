// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "platform/atomic_file.hpp"
#include "profiler/report/report_tables.hpp"

namespace underlap::report {
namespace {

// The sentence that must stand by every figure of a backend whose link is no link.
std::string link_text(const RunResults& results) {
  const BackendTraits& backend = traits_of(results.info.backend);
  if (!backend.measures_time) return results.info.link + ": every time here is modelled, none was measured";
  if (backend.runs_on_cores) return results.info.link + ": the transfers run on the cores that compute needs";
  return results.info.link;
}

std::string progress_text(const RunResults& results) {
  std::string text = fmt::format("{} of {} blocks", results.blocks_done, results.blocks_planned);
  if (results.blocks_done == 1)
    text += "; one block gives no interval";
  else if (results.blocks_done > 1 && best_coverage(results.blocks_done) < 0.95)
    text += fmt::format("; intervals over so few hold the truth {:.1f} % of the time at best",
                        100 * best_coverage(results.blocks_done));
  if (!results.resumed_at_blocks.empty())
    text += fmt::format("; resumed with fresh weights before block {}", fmt::join(results.resumed_at_blocks, ", "));
  return text;
}

// Where a rank stands for others, figures are its own; nobody is to take it for a run of all.
std::string played_text(const RunResults& results) {
  std::string text;
  for (const CellResult& cell : results.cells)
    if (cell.num_ranks_played > 0 && cell.num_ranks_played < cell.num_ranks)
      text += fmt::format("{}: {} of {} ranks simulated, each for {} that do the same\n", cell.name,
                          cell.num_ranks_played, cell.num_ranks, cell.num_ranks / cell.num_ranks_played);
  return text;
}

enum class Outcome : std::uint8_t { none, shorter, longer, not_shown };

// What overlap did to a cell's step. A measured ratio without interval shows nothing; a modelled one has no noise.
Outcome outcome_of(const CellSummary& summary, bool is_modelled) {
  const auto& ratio = summary.step_ratio_to_off;
  if (!ratio) return Outcome::none;
  if (!ratio->interval && !is_modelled) return Outcome::not_shown;
  const Interval range = ratio->interval.value_or(Interval{ratio->value, ratio->value});
  return range.high < 1 ? Outcome::shorter : range.low > 1 ? Outcome::longer : Outcome::not_shown;
}

// The table in a sentence: "the step is shorter than off in 6 of 8 cells, most in both: 0.734 of it".
std::string outcome_text(const RunResults& results, const std::vector<CellSummary>& summaries) {
  std::map<Outcome, std::vector<const CellSummary*>> cells;
  for (const CellSummary& summary : summaries)
    cells[outcome_of(summary, !traits_of(results.info.backend).measures_time)].push_back(&summary);
  const std::size_t all = summaries.size() - cells[Outcome::none].size();
  if (all == 0) return "";
  const auto& shorter = cells[Outcome::shorter];
  std::string text = fmt::format("the step is shorter than off in {} of {} cells", shorter.size(), all);
  if (!shorter.empty()) {
    const auto ratio = [](const CellSummary* summary) { return summary->step_ratio_to_off->value; };
    const CellSummary& best = **std::ranges::min_element(shorter, {}, ratio);
    text += fmt::format(", most in {}: {:.3f} of it", best.name, best.step_ratio_to_off->value);
  }
  if (const auto& longer = cells[Outcome::longer]; !longer.empty())
    text += fmt::format("; longer in {}", longer.size());
  if (const auto& unclear = cells[Outcome::not_shown]; !unclear.empty())
    text += fmt::format("; in {} the run shows neither", unclear.size());
  return text + "\n";
}

std::string memory_text(const RunResults& results) {
  std::string text;
  for (const CellResult& cell : results.cells)
    if (!cell.memory_advice.empty())
      text +=
          fmt::format("DOES NOT FIT: {}: a rank needs {:.1f} GB as predicted, a GPU has {:.1f} GB ({})\n", cell.name,
                      double(cell.peak_memory_bytes) / 1e9, double(cell.device_memory_bytes) / 1e9, cell.memory_advice);
  return text;
}

std::string mismatch_text(const RunResults& results) {
  std::string text;
  if (results.info.commit.ends_with("-dirty"))
    text +=
        fmt::format("NOT RECORDED: {}: the program was built with changes that no commit holds\n", results.info.commit);
  for (const CellResult& cell : results.cells)
    if (!cell.invalid_because.empty())
      text += fmt::format("NOT VALID: {}: {} ({} in all); its times are not to be used\n", cell.name,
                          cell.invalid_because.front(), cell.invalid_because.size());
  for (const CellResult& cell : results.cells)
    if (cell.label == NumericsLabel::mismatch)
      text += fmt::format("MISMATCH: {}: the losses differ from the reference's by {:.1e}; its times mean nothing\n",
                          cell.name, cell.max_loss_difference);
  return text;
}

// What ranks said of their blocks; most backends have nothing to say.
std::string notes_markdown(const RunResults& results) {
  std::string text;
  for (const CellResult& cell : results.cells)
    for (const std::string& note : cell.notes) text += fmt::format("- {}: {}\n", cell.name, note);
  return text.empty() ? text : "## Notes\n\n" + text + "\n";
}

std::string machine_markdown(const RunInfo& info) {
  std::string libraries;
  for (const auto& [name, version] : info.library_versions)
    libraries += fmt::format("{}{} {}", libraries.empty() ? "" : ", ", name, version);
  Table table{{{"what", Align::left}, {"value", Align::left}},
              {{{"command"}, {fmt::format("`{}`", info.command)}},
               {{"Underlap"}, {fmt::format("{}, commit {}", info.version, info.commit)}},
               {{"started"}, {info.started_utc}},
               {{"machine"}, {fmt::format("{}, {} CPUs, host {}", info.cpu_model, info.num_cpus, info.host_name_hash)}},
               {{"system"}, {fmt::format("{}; {}", info.operating_system, info.compiler)}},
               {{"libraries"}, {libraries}},
               {{"clock"}, {info.clock}},
               {{"seed"}, {std::to_string(info.seed)}},
               {{"config"}, {info.config_hash}}}};
  return markdown(table);
}

constexpr const char* kUnderTheTable = "step/bound in parentheses: against the bound and the transfers' CPU time\n";

constexpr const char* kHowToRead = R"(## How to read it

- A step's time is the median over blocks of each block's median step; the interval comes from resampling blocks.
- `step/off` is taken within each block against the cell with every overlap off and otherwise equal values, so drift
  of the machine cancels. Below 1 the step was shorter with overlap; where the interval holds 1, nothing was shown.
- `exposed` is communication with no compute under it, mean over the ranks; `worst exposed` that of each step's worst.
- `overlap %` is the share of communication that ran under compute. It says nothing about the step alone: communication
  that overlap made longer can be hidden and still cost time. The target is the step.
- `E` is the share of what communication cost the step without overlap that overlap took away; negative means that it
  added to it. It is left out where there was too little to take.
- `wire MB` is what one rank sends in a step.
- `step/bound` is the step against what the schedule forces if no operation slowed another down. The figure in
  parentheses adds the transfers' CPU time to the bound: over the loopback the transfers run on the cores that compute
  needs.
- `step/ideal` is the step against the least that any schedule of the same work could take: the longer of what a rank
  computes and what its link carries.
- `CPU ms` is that time: processor time of the communication threads of all ranks and of the transport, per step.
- `numerics` says how a cell's losses compare with the reference's: bit_identical, reordered (up to summation order) or
  lower_precision, with the largest relative difference.
- A ratio along an axis compares two cells that differ in that axis alone. It `resolves 1 %` where half the width of its
  interval is at most that; `blocks for 1 %` is how many blocks would get there at the spread seen in this run.

bench/METRICS.md defines every word with formula and source.
)";

constexpr const char* kByMode =
    "Per step, mean over the ranks. Simultaneous modes each count in full, so rows may sum to more than the cell's "
    "communication.";
constexpr const char* kTimeChange =
    "Change of the mean rank's window from the cell with overlap off, mean over the steps of the blocks that both "
    "have, in milliseconds. Each row adds up exactly, and compute = contention (the same kernels, longer) + "
    "decomposition "
    "(other kernels: chunks, sums, casts) - concurrency (kernels beside kernels).";
constexpr const char* kExcess =
    "Mean window less bound_schedule, in milliseconds. Each row adds up exactly: kernels longer than alone, less those "
    "beside each other, all that is not compute, less what the bound itself leaves without compute. The names are the "
    "largest parts before that: the bound does not say of which it forces how much.";

std::string section(const std::string& title, const std::string& about, const Table& table) {
  if (table.rows.empty()) return "";
  return fmt::format("## {}\n\n{}\n\n{}\n", title, about, markdown(table));
}

}  // namespace

std::string report_table(const RunResults& results, const TableFormat& format) {
  const std::string heading = fmt::format("backend {}; link {}\n{}\n", to_string(results.info.backend),
                                          link_text(results), progress_text(results));
  const std::vector<CellSummary> summaries = summarise(results);
  const std::string cells = render(cell_table(results, summaries), format);
  const std::string titles = cells.substr(0, cells.find('\n'));
  const bool has_cpu =
      std::ranges::any_of(summaries, [](const CellSummary& s) { return s.transfer_cpu_ms.has_value(); });
  const bool shows_bound = has_cpu && titles.find("step/bound") != std::string::npos;
  std::string text = heading + cells + (shows_bound ? kUnderTheTable : "") + outcome_text(results, summaries);
  for (const AxisTable& along : axis_tables(results, summaries))
    text += fmt::format("\n{}\n{}", along.title, render(along.table, format));
  return text + played_text(results) + memory_text(results) + mismatch_text(results);
}

std::string report_details(const RunResults& results, const TableFormat& format) {
  std::string text;
  const auto add = [&](const char* title, const Table& table) {
    if (!table.rows.empty()) text += fmt::format("\n{}\n{}", title, render(table, format));
  };
  add("Communication by mode: per step, mean over the ranks", mode_table(summarise(results)));
  add("Where the time went: the mean window against overlap off; compute = contention + decomposition - concurrency",
      time_change_table(results));
  add("Excess over bound_schedule: kernels longer than alone, what else is not compute, less what the bound forces",
      excess_table(results));
  return text;
}

std::string report_table(const RunResults& results, int width, bool colour) {
  return report_table(results, TableFormat{.width = width, .colour = colour});
}

std::string run_text(const RunResults& results, const TableFormat& format, Details details) {
  return report_table(results, format) + (details == Details::included ? report_details(results, format) : "");
}

std::string report_markdown(const RunResults& results) {
  const std::vector<CellSummary> summaries = summarise(results);
  std::string text =
      fmt::format("# Underlap run: {} backend, {} cells\n\n", to_string(results.info.backend), results.cells.size());
  text += fmt::format("**Link: {}.** {}.\n\n", link_text(results), progress_text(results));
  if (const std::string mismatches = mismatch_text(results); !mismatches.empty())
    text += fmt::format("```\n{}```\n\n", mismatches);
  text += section("Cells", "Times are of one training step.", cell_table(results, summaries));
  if (const std::string lines = played_text(results) + memory_text(results); !lines.empty())
    text += fmt::format("```\n{}```\n\n", lines);
  for (const AxisTable& along : axis_tables(results, summaries))
    text += section(along.title, "Steps of cells that differ in this axis alone, as a ratio within each block.",
                    along.table);
  text += section("Communication by mode", kByMode, mode_table(summaries));
  text +=
      section("Communication by purpose",
              "Per step, mean over the ranks. Simultaneous purposes each count in full, so rows may sum to more than "
              "the cell's communication.",
              purpose_table(summaries));
  text += section("Where the time went", kTimeChange, time_change_table(results));
  text += section("Excess over bound_schedule", kExcess, excess_table(results));
  return text + notes_markdown(results) + "## Machine\n\n" + machine_markdown(results.info) + "\n" + kHowToRead;
}

void write_report(const std::filesystem::path& folder, const RunResults& results) {
  write_file_atomically(folder / "report.md", report_markdown(results));
}

}  // namespace underlap::report
