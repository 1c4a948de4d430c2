// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/report.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <sstream>

#include "platform/atomic_file.hpp"
#include "platform/text/escape.hpp"
#include "profiler/certainty/certainty.hpp"
#include "profiler/report/answer.hpp"
#include "profiler/report/report_tables.hpp"
#include "profiler/report/samples.hpp"

namespace underlap::report {
namespace {

// The sentence that must accompany every figure of a backend without a real link.
std::string link_text(const RunResults& results) {
  const BackendTraits& backend = traits_of(results.info.backend);
  if (!backend.measures_time) return results.info.link + ": all times are simulated, not measured";
  if (backend.runs_on_cores) return results.info.link + ": transfers run on the cores that compute uses";
  return results.info.link;
}

std::string progress_text(const RunResults& results) {
  std::string text = fmt::format("{} of {} block{}", results.blocks_done, results.blocks_planned,
                                 results.blocks_planned == 1 ? "" : "s");
  if (const std::string note = interval_note(results); !note.empty()) text += "; " + note;
  if (!results.resumed_at_blocks.empty())
    text += fmt::format("; resumed with fresh weights before block {}", fmt::join(results.resumed_at_blocks, ", "));
  return text;
}

// The figures of a rank that represents others are its own. Readers must not take them for a run of all ranks.
std::string played_text(const RunResults& results) {
  std::map<std::pair<std::int32_t, std::int32_t>, int> cells;  // by ranks played and ranks
  for (const CellResult& cell : results.cells)
    if (cell.num_ranks_played > 0 && cell.num_ranks_played < cell.num_ranks)
      ++cells[{cell.num_ranks_played, cell.num_ranks}];
  std::string text;
  for (const auto& [ranks, count] : cells) {
    text += fmt::format(
        "{}{} of {} ranks",
        text.empty() ? (traits_of(results.info.backend).measures_time ? "measured: " : "simulated: ") : "; ",
        ranks.first, ranks.second);
    if (std::cmp_less(count, results.cells.size())) text += fmt::format(" in {} of the cells", count);
  }
  return text.empty() ? text : text + ", one for each set of identical ranks\n";
}

// Names are in it, and they stay on the line.
std::string line(const std::string& text) { return visible_text(text) + "\n"; }

// Once for all cells that need the same.
std::string memory_text(const RunResults& results) {
  std::map<std::string, std::vector<std::string>> cells;  // by text
  for (const CellResult& cell : results.cells)
    if (!cell.memory_advice.empty())
      cells[fmt::format("a rank needs {:.1f} GB (predicted), a GPU has {:.1f} GB ({})",
                        double(cell.peak_memory_bytes) / 1e9, double(cell.device_memory_bytes) / 1e9,
                        cell.memory_advice)]
          .push_back(cell.name);
  std::string text;
  for (const auto& [words, names] : cells) {
    std::string cells_text = names.front();
    if (names.size() > 1) cells_text += fmt::format(" and {} more", names.size() - 1);
    text += line(fmt::format("DOES NOT FIT: {}: {}", cells_text, words));
  }
  return text;
}

std::string mismatch_text(const RunResults& results) {
  std::string text;
  if (results.info.commit.ends_with("-dirty"))
    text += line(fmt::format("NOT RECORDED: {}: the program was built with uncommitted changes", results.info.commit));
  for (const CellResult& cell : results.cells)
    if (!cell.invalid_because.empty())
      text += line(fmt::format("INVALID: {}: {} ({} in total); do not use its times", cell.name,
                               cell.invalid_because.front(), cell.invalid_because.size()));
  for (const CellResult& cell : results.cells) {
    std::string what = non_finite_loss(cell);
    if (what.empty() && cell.label == NumericsLabel::mismatch)
      what = fmt::format("the losses differ from the reference by {:.1e}", cell.max_loss_difference);
    if (!what.empty()) text += line(fmt::format("MISMATCH: {}: {}; its times are meaningless", cell.name, what));
  }
  return text;
}

// The notes of ranks on their blocks; most backends have no notes.
std::string notes_markdown(const RunResults& results) {
  std::string text;
  for (const CellResult& cell : results.cells)
    for (const std::string& note : cell.notes)
      text += fmt::format("- {}\n", markdown_text(fmt::format("{}: {}", cell.name, note)));
  return text.empty() ? text : "## Notes\n\n" + text + "\n";
}

std::vector<certainty::PublishedError> published_errors_of(const RunResults& results) {
  if (traits_of(results.info.backend).measures_time) return {};
  return certainty::published_errors(certainty::published_results(), results.info.link);
}

std::string certainty_markdown(const RunResults& results) {
  const std::vector<certainty::PublishedError> errors = published_errors_of(results);
  if (errors.empty()) return "";
  std::string text =
      "## Accuracy\n\nSimulated steps compared with published ones on such machines (results/published):\n\n";
  for (const certainty::PublishedError& error : errors) text += fmt::format("- {}\n", markdown_text(line_of(error)));
  return text + "\n";
}

std::string certainty_text(const RunResults& results, const TableFormat& format) {
  const std::string sentence = sentence_of(published_errors_of(results));
  return sentence.empty() ? "" : "\n" + wrap(sentence + "; report.md lists them by table.", format.width);
}

// "2 on node1, 2 on node2"
std::string nodes_text(const std::vector<LaunchedRank>& ranks) {
  std::string text;
  for (const auto& [node, count] : launched_nodes(ranks))
    text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", count, node);
  return text;
}

// Where and when cells were measured that took no turns; without rows for others.
Table allocation_table(const RunResults& results) {
  Table table{{{"cell", Align::left}, {"ranks", Align::left}, {"begun", Align::left}, {"processor", Align::left}}, {}};
  for (const CellResult& cell : results.cells)
    if (const auto& own = cell.own_allocation)
      table.rows.push_back({{cell.name}, {nodes_text(own->ranks)}, {own->started_utc}, {own->cpu_model}});
  return table;
}

// "by Slurm: 2 on node1, 2 on node2; their clocks agree within 35 us"; empty where no launcher started them.
std::string launch_text(const RunResults& results) {
  const std::string nodes = nodes_text(results.info.launched_ranks);
  if (nodes.empty()) return "";
  std::int64_t residual_ns = 0;
  for (const CellResult& cell : results.cells) residual_ns = std::max(residual_ns, cell.clock_residual_ns);
  return fmt::format("by {}: {}{}", results.info.launcher, nodes,
                     residual_ns == 0 ? ""
                                      : fmt::format("; their clocks agree within {:.0f} us",
                                                    std::ceil(static_cast<double>(residual_ns) / 1e3)));
}

// What the launcher left each rank of its machine.
Table rank_table(const RunInfo& info) {
  Table table{{{"rank", Align::right},
               {"node", Align::left},
               {"local", Align::right},
               {"CPUs", Align::left},
               {"NUMA", Align::left},
               {"CUDA_VISIBLE_DEVICES", Align::left}},
              {}};
  for (std::size_t rank = 0; rank < info.launched_ranks.size(); ++rank) {
    const LaunchedRank& its = info.launched_ranks[rank];
    table.rows.push_back({{std::to_string(rank)},
                          {its.node},
                          {std::to_string(its.local_rank)},
                          {its.cpus},
                          {its.numa_nodes},
                          {its.visible_devices}});
  }
  return table;
}

std::string machine_markdown(const RunResults& results) {
  const RunInfo& info = results.info;
  std::string libraries;
  for (const auto& [name, version] : info.library_versions)
    libraries += fmt::format("{}{} {}", libraries.empty() ? "" : ", ", name, version);
  Table table{{{"what", Align::left}, {"value", Align::left}},
              {{{"command"}, {info.command, Style::code}},
               {{"Underlap"}, {fmt::format("{}, commit {}", info.version, info.commit)}},
               {{"started"}, {info.started_utc}},
               {{"machine"}, {fmt::format("{}, {} CPUs, host {}", info.cpu_model, info.num_cpus, info.host_name_hash)}},
               {{"system"}, {fmt::format("{}; {}", info.operating_system, info.compiler)}},
               {{"libraries"}, {libraries}},
               {{"clock"}, {info.clock}},
               {{"seed"}, {std::to_string(info.seed)}},
               {{"config"}, {info.config_hash}}}};
  if (!info.gpu_model.empty()) table.rows.push_back({{"GPUs"}, {info.gpu_model}});
  if (const std::string launch = launch_text(results); !launch.empty()) table.rows.push_back({{"ranks"}, {launch}});
  std::string text = markdown(table);
  for (const Table& more : {rank_table(info), allocation_table(results)})
    if (!more.rows.empty()) text += "\n" + markdown(more);
  return text;
}

constexpr const char* kUnderTheTable = "step/bound in parentheses: relative to the bound plus the transfers' CPU time";
constexpr std::string_view kIndent = "  ";

constexpr const char* kHowToRead = R"(## How to read it

- The step time is the median over blocks of each block's median step, without stalled steps. Its interval contains the
  true value in at least 95 % of cases. From six blocks on, its limits are two of the block medians; below that, they
  follow Student's t distribution.
- `step/off` is the step time divided by that of the same cell with all overlap off. Its interval comes from the
  quotients within each block, which cancels machine drift. Below 1, overlap makes the step shorter. If the interval
  contains 1, the result is inconclusive.
- `exposed` is communication without concurrent compute, mean over the ranks. `worst exposed` is that of the worst rank
  of each step.
- `overlap %` is the share of communication that is hidden under compute. It does not show whether the step is faster:
  overlap can make communication longer, which is then hidden but still costs time. The goal is a shorter step.
- `E` is the share of the communication cost that overlap removes. Below 0, overlap adds to the cost. It is omitted if
  communication costs too little.
- `wire MB` is what one rank sends per step.
- `step/bound` is the step time divided by the shortest time that its schedule allows if no operation slows another.
  The figure in parentheses adds the transfers' CPU time to the bound: over the loopback, transfers run on the cores
  that compute uses.
- `step/ideal` is the step time divided by the shortest time that any schedule of the same work allows: the compute time
  of a rank or the transfer time of its link, whichever is longer.
- `CPU ms` is the CPU time of the communication threads of all ranks and of the transport, per step.
- Rates are those of the median step. `MFU` is the counted FLOP/s as a share of the GPUs' dense peak.
- `note` refers to a note above: a request that is not in effect, or why a cell was not run.
- `numerics` compares the losses of a cell with those of the reference: bit_identical, reordered (equal up to summation
  order) or lower_precision, with the largest relative difference.
- A ratio along an axis compares two cells that differ only in that axis. It `resolves 1 %` if half the width of its
  interval is at most 1 %; `blocks for 1 %` is the number of blocks needed for that at the spread of this run.

bench/METRICS.md defines every term with formula and source.
)";

constexpr const char* kByMode =
    "Per step, mean over the ranks. Simultaneous modes each count in full, so rows may sum to more than the cell's "
    "communication.";
constexpr const char* kTimeChange =
    "Change of the mean rank's window from the cell with overlap off, in milliseconds: mean over the steps of the "
    "blocks that both have, without stalled steps. Each row adds up exactly, and compute = contention (the same "
    "kernels, longer) + decomposition (other kernels: chunks, sums, casts) - concurrency (concurrent kernels).";
constexpr const char* kExcess =
    "Mean window minus bound_schedule, in milliseconds. Each row adds up exactly: kernels longer than alone, minus "
    "concurrent kernels, plus all time without compute, minus the time without compute that the bound itself forces. "
    "The names are the largest parts before the last subtraction: the bound does not attribute what it forces.";

// How many answers a terminal shows of a matrix with more of them.
constexpr std::size_t kMostAnswers = 10;
constexpr std::size_t kMostStalls = 3;
constexpr std::size_t kAllStalls = std::numeric_limits<std::size_t>::max();

std::string stalls_text(const RunResults& results, std::size_t most) {
  std::vector<std::string> lines;
  for (const CellResult& cell : results.cells)
    for (const Stall& stall : stalls_of(cell))
      lines.push_back(
          line(fmt::format("STALL in cell {}: {}; excluded from all figures", cell.name, stall_text(stall))));
  const std::size_t more = lines.size() - std::min(most, lines.size());
  lines.resize(lines.size() - more);
  return fmt::format("{}{}", fmt::join(lines, ""),
                     more == 0 ? "" : fmt::format("STALL: {} more steps; report.md lists them\n", more));
}

// The share that `part` took of the processors in some blocks.
double share_of(std::span<const BlockLoad> blocks, std::int64_t BlockLoad::*part) {
  double taken = 0, all = 0;
  for (const BlockLoad& load : blocks) {
    taken += static_cast<double>(load.*part);
    all += static_cast<double>(load.wall_ns) * load.cpus;
  }
  return all > 0 ? taken / all : 0;
}

// Pairs within a block meet the same load only where it lasts that long.
std::string load_text(const RunResults& results) {
  constexpr double kBusy = 0.1;
  constexpr double kStolen = 0.02;
  const double others = share_of(results.load, &BlockLoad::other_cpu_ns);
  const double stolen = share_of(results.load, &BlockLoad::stolen_cpu_ns);
  std::string text;
  if (others >= kBusy) {
    const auto share = [](const BlockLoad& load) { return share_of({&load, 1}, &BlockLoad::other_cpu_ns); };
    const BlockLoad& most = *std::ranges::max_element(results.load, {}, share);
    text += fmt::format(
        "BUSY MACHINE: other processes took {:.0f} % of its {} CPUs while steps were measured, {:.0f} % in block {}\n",
        100 * others, most.cpus, 100 * share(most), most.block);
  }
  if (stolen >= kStolen)
    text += fmt::format(
        "BUSY MACHINE: the hypervisor gave {:.0f} % of the CPUs to other guests while steps were measured\n",
        100 * stolen);
  return text;
}

// Blocks of cells that did not take turns are no pairs.
std::string allocations_text(const RunResults& results) {
  std::set<std::string> nodes;
  int cells = 0;
  for (const CellResult& cell : results.cells) {
    if (!cell.own_allocation) continue;
    ++cells;
    nodes.insert(nodes_text(cell.own_allocation->ranks));
  }
  if (cells == 0) return "";
  return fmt::format(
      "NOT INTERLEAVED: {} cells were measured one by one, each in its own allocation, on {}: differences between "
      "nodes and times are part of every comparison of two cells, but not of its interval\n",
      cells, nodes.size() == 1 ? "the same nodes" : fmt::format("{} sets of nodes", nodes.size()));
}

// What of the requests is not in effect, and which cells were not run: a line each.
std::string notes_text(const RunResults& results) {
  std::string text;
  for (const std::string& note : notes_of(results).lines) text += line(note);
  return text;
}

// The warnings about the run, which precede its figures.
std::string warnings_text(const RunResults& results, std::size_t most_stalls) {
  return played_text(results) + notes_text(results) + memory_text(results) + mismatch_text(results) +
         allocations_text(results) + load_text(results) + stalls_text(results, most_stalls);
}

std::string wrapped_lines(const std::string& text, const TableFormat& format) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += wrap(line, format.width, kIndent);
  return out;
}

std::string heading_text(const RunResults& results, const TableFormat& format) {
  return wrapped_lines(run_heading(results) + warnings_text(results, kMostStalls), format);
}

std::string answers_text(const std::vector<PairAnswer>& answers, std::size_t most, const TableFormat& format) {
  if (answers.empty()) return "";
  std::string text = "\n" + wrap(headline(answers), format.width, kIndent);
  if (answers.size() == 1) return text;
  for (const PairAnswer& answer : foremost(answers, most))
    text += wrap("- " + answer_text(answer), format.width, kIndent);
  return answers.size() <= most ? text
                                : text + fmt::format("{} more pairs; --details shows all\n", answers.size() - most);
}

std::string answers_markdown(const std::vector<PairAnswer>& answers) {
  if (answers.empty()) return "";
  std::string text = fmt::format("**Found: {}**\n\n", markdown_text(headline(answers)));
  if (answers.size() == 1) return text;
  for (const PairAnswer& answer : answers) text += fmt::format("- {}\n", markdown_text(answer_text(answer)));
  return text + "\n";
}

// "Tokens of all ranks."
std::string sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

// A table under its title, or nothing where it has no rows.
std::string titled(const std::string& title, const Table& table, const TableFormat& format) {
  return table.rows.empty() ? "" : fmt::format("\n{}{}", wrap(title, format.width), render(table, format));
}

std::string full_table(const RunResults& results, const std::vector<CellSummary>& summaries,
                       const TableFormat& format) {
  const std::string cells = render(cell_table(results, summaries), format);
  const std::string titles = cells.substr(0, cells.find('\n'));
  const bool has_cpu =
      std::ranges::any_of(summaries, [](const CellSummary& s) { return s.transfer_cpu_ms.has_value(); });
  const bool shows_bound = has_cpu && titles.find("step/bound") != std::string::npos;
  std::string text = cells + (shows_bound ? wrap(kUnderTheTable, format.width) : "");
  for (const AxisTable& along : axis_tables(results, summaries)) text += titled(along.title, along.table, format);
  return text;
}

std::string detail_tables(const RunResults& results, const std::vector<CellSummary>& summaries,
                          const TableFormat& format) {
  return titled("Communication by mode: per step, mean over the ranks", mode_table(summaries), format) +
         titled("Communication by purpose: per step, mean over the ranks", purpose_table(summaries), format) +
         titled(
             "Where the time went: change of the mean window from overlap off; compute = contention + decomposition - "
             "concurrency",
             time_change_table(results), format) +
         titled("Excess over bound_schedule: longer kernels and time without compute, minus what the bound forces",
                excess_table(results), format);
}

}  // namespace

std::string interval_note(const RunResults& results) {
  constexpr std::int32_t kFewestOfAnyNoise = 6;  // median_interval()
  if (!traits_of(results.info.backend).measures_time || results.blocks_done == 0) return "";
  if (results.blocks_done == 1) return "one block gives no interval";
  return results.blocks_done < kFewestOfAnyNoise ? "95 % intervals assume normally distributed noise between blocks"
                                                 : "";
}

std::string run_heading(const RunResults& results) {
  const std::string launch = launch_text(results);
  return line(fmt::format("backend {}; link {}", to_string(results.info.backend), link_text(results))) +
         (launch.empty() ? "" : line("ranks " + launch)) + line(progress_text(results));
}

std::string report_warnings(const RunResults& results) { return warnings_text(results, kAllStalls); }

std::vector<ReportSection> report_sections(const RunResults& results, const std::vector<CellSummary>& summaries) {
  std::vector<ReportSection> sections{{"Cells", "Times are per training step.", cell_table(results, summaries)},
                                      {"Rates", sentence(rates_about(results)), rate_table(results, summaries)}};
  for (AxisTable& along : axis_tables(results, summaries))
    sections.push_back({std::move(along.title),
                        "Step ratios, within each block, of cells that differ only in this axis.",
                        std::move(along.table)});
  sections.push_back({"Communication by mode", kByMode, mode_table(summaries)});
  sections.push_back({"Communication by purpose",
                      "Per step, mean over the ranks. Simultaneous purposes each count in full, so rows may sum to "
                      "more than the cell's communication.",
                      purpose_table(summaries)});
  sections.push_back({"Where the time went", kTimeChange, time_change_table(results)});
  sections.push_back({"Excess over bound_schedule", kExcess, excess_table(results)});
  std::erase_if(sections, [](const ReportSection& section) { return section.table.rows.empty(); });
  return sections;
}

std::string report_table(const RunResults& results, const TableFormat& format) {
  const std::vector<CellSummary> summaries = summarize(results);
  const std::string line = headline(answers_of(results, summaries));
  return heading_text(results, format) + full_table(results, summaries, format) +
         (line.empty() ? "" : wrap(line, format.width, kIndent));
}

std::string run_text(const RunResults& results, const TableFormat& format, Details details) {
  const std::vector<CellSummary> summaries = summarize(results);
  const std::vector<PairAnswer> answers = answers_of(results, summaries);
  const bool is_brief = details == Details::left_out;
  std::string text =
      heading_text(results, format) + answers_text(answers, is_brief ? kMostAnswers : answers.size(), format);
  const std::string rates = titled("Rates: " + rates_about(results), rate_table(results, summaries), format);
  const std::string sure = certainty_text(results, format);
  if (is_brief) return text + "\n" + render(brief_table(results, summaries), format) + rates + sure;
  return text + "\n" + full_table(results, summaries, format) + rates + sure +
         detail_tables(results, summaries, format) +
         titled("Ranks and the resources from their launcher", rank_table(results.info), format) +
         titled("Allocations, one per cell", allocation_table(results), format);
}

std::string report_markdown(const RunResults& results) {
  const std::vector<CellSummary> summaries = summarize(results);
  std::string text =
      fmt::format("# Underlap run: {} backend, {} cells\n\n", to_string(results.info.backend), results.cells.size());
  text +=
      fmt::format("**Link: {}.** {}.\n\n", markdown_text(link_text(results)), markdown_text(progress_text(results)));
  if (const std::string warnings = report_warnings(results); !warnings.empty()) text += markdown_block(warnings) + "\n";
  text += answers_markdown(answers_of(results, summaries));
  for (const ReportSection& section : report_sections(results, summaries))
    text += fmt::format("## {}\n\n{}\n\n{}\n", markdown_text(section.title), markdown_text(section.about),
                        markdown(section.table));
  return text + certainty_markdown(results) + notes_markdown(results) + "## Machine\n\n" + machine_markdown(results) +
         "\n" + kHowToRead;
}

void write_report(const std::filesystem::path& folder, const RunResults& results) {
  write_file_atomically(folder / "report.md", report_markdown(results));
}

}  // namespace underlap::report
