// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/details/trace_details.hpp"
#include "profiler/analysis/late_rank.hpp"
#include "profiler/analysis/waits.hpp"
#include "profiler/trace/kernel_name.hpp"

namespace underlap::analysis {
namespace {

constexpr std::size_t kMostRows = 40;  ///< of a table by stream, step or kernel

std::string faults_text(const Trace& trace, const Summary& summary, int width) {
  std::string text;
  for (const std::string& fault : faults(trace, summary)) text += wrap(fault, width, "  ");
  return text.empty() ? text : text + "\n";
}

std::string notes_text(const Trace& trace, int width) {
  std::string text;
  for (const std::string& note : notes_on(trace)) text += "\n" + wrap(note, width);
  return text;
}

// As many characters of a name as leave room for the figures.
std::size_t longest_name(Breakdown by, const TableFormat& format) {
  constexpr int kFigures = 45;
  if (by != Breakdown::kernel) return 60;
  return static_cast<std::size_t>(std::clamp(format.width - kFigures, 24, 120));
}

std::string text_of(const Trace& trace, const Summary& summary, Breakdown by, const TableFormat& format) {
  FigureTable table = breakdown(trace, summary, by);
  std::string text = "\n" + title_of(summary, by) + "\n\n";
  if (table.rows.empty())
    return text + (by == Breakdown::mode || by == Breakdown::purpose || by == Breakdown::hidden ? "No communication.\n"
                                                                                                : "Nothing.\n");
  const std::size_t rows = table.rows.size();
  if (rows > kMostRows) table.rows.resize(kMostRows);
  text += render(table, format, longest_name(by, format));
  if (table.rows.size() < rows) text += fmt::format("First {} of {} rows shown; --csv writes all.\n", kMostRows, rows);
  return text;
}

constexpr std::string_view kNoMode = "unattributed";
constexpr double kMost = 0.5;  ///< of a whole, that is its most
constexpr double kAll = 0.995;
constexpr double kWorthSaying = 0.05;  ///< of the step, in which devices idle

std::string ms(double ns) {
  const int decimals = ns >= 1e8 ? 1 : ns >= 1e7 ? 2 : 3;
  return fmt::format("{:.{}f} ms", ns / 1e6, decimals);
}

std::string pct(double part, double whole) {
  const double value = 100 * part / whole;
  return value < 0.05 ? "under 0.1 %" : fmt::format("{:.{}f} %", value, value < 9.95 ? 1 : 0);
}

// The typical step, mean over the ranks.
struct TypicalStep {
  std::size_t ranks = 0;
  double step_ns = 0, comm_ns = 0, exposed_ns = 0, wait_ns = 0, unsplit_ns = 0, idle_ns = 0;
  double fused_ns = 0, unclassified_ns = 0;
  bool is_wait_known = true;
  std::map<std::string, double> exposed_of_modes;
  std::map<std::string, double> exposed_of_purposes;
};

// The typical time of a part; its mean where it is in some steps only.
double typical_or_mean(const Summary& summary, std::int64_t Split::*part) {
  const double ns = typical(summary, [&](const Split& split) { return split.*part; });
  if (ns > 0) return ns;
  double sum = 0, windows = 0;
  for (const RankSummary& rank : summary.shown())
    for (const Split& split : rank.splits) sum += static_cast<double>(split.*part), ++windows;
  return windows == 0 ? 0 : sum / windows;
}

TypicalStep typical_step(const Summary& summary) {
  TypicalStep step;
  for (const RankSummary& rank : summary.shown()) {
    if (rank.windows.empty()) continue;
    ++step.ranks;
    step.is_wait_known &= is_split(rank.total.exposed_unsplit_ns, rank.total.exposed_ns());
    for (const auto& [mode, total] : rank.total.modes) step.exposed_of_modes[mode];
    for (const auto& [purpose, total] : rank.total.purposes) step.exposed_of_purposes[purpose];
  }
  step.step_ns = typical_step_ns(summary);
  step.comm_ns = typical(summary, [](const Split& s) { return s.comm_ns(); });
  step.exposed_ns = typical(summary, [](const Split& s) { return s.exposed_ns(); });
  step.wait_ns = typical(summary, [](const Split& s) { return s.exposed_wait_ns; });
  step.unsplit_ns = typical(summary, [](const Split& s) { return s.exposed_unsplit_ns; });
  step.idle_ns = typical(summary, [](const Split& s) { return s.idle_ns; });
  step.fused_ns = typical_or_mean(summary, &Split::fused_ns);
  step.unclassified_ns = typical_or_mean(summary, &Split::unclassified_ns);
  for (auto& [mode, ns] : step.exposed_of_modes)
    ns = typical(summary, part_of(&Split::modes, mode, &CommunicationSplit::exposed_ns));
  for (auto& [purpose, ns] : step.exposed_of_purposes)
    ns = typical(summary, part_of(&Split::purposes, purpose, &CommunicationSplit::exposed_ns));
  return step;
}

std::pair<std::string, double> largest(const std::map<std::string, double>& parts) {
  return *std::ranges::max_element(parts, {}, [](const auto& part) { return part.second; });
}

std::string step_sentence(const Summary& summary, const TypicalStep& step) {
  const std::string ranks = step.ranks > 1 ? fmt::format("mean of {} ranks", step.ranks) : "";
  if (!summary.shows_steps())
    return fmt::format("The trace spans {}{}{}; its step boundaries are unknown.", ms(step.step_ns),
                       ranks.empty() ? "" : ", ", ranks);
  const std::string statistic = statistic_text(summary);
  const std::string how = statistic.empty() || ranks.empty() ? statistic + ranks : statistic + ", " + ranks;
  std::string text = fmt::format("{} takes {}{}.", statistic.empty() ? "The only step" : "A step", ms(step.step_ns),
                                 how.empty() ? "" : " (" + how + ")");
  if (const std::string stalled = stalled_text(summary); !stalled.empty()) text += " " + stalled + ".";
  return text;
}

std::string mode_clause(const TypicalStep& step) {
  const auto [mode, exposed_ns] = largest(step.exposed_of_modes);
  const bool is_all = exposed_ns >= kAll * step.exposed_ns;
  if (mode == kNoMode)
    return fmt::format("; {} parallelism is not recorded in the trace ({})",
                       is_all ? "its" : fmt::format("for {}, the", ms(exposed_ns)), kAssignHint);
  if (is_all) return ", all of it " + mode;
  return fmt::format(", {} {} ({})", exposed_ns >= kMost * step.exposed_ns ? "mostly" : "the largest part", mode,
                     ms(exposed_ns));
}

std::string exposed_sentence(const TypicalStep& step) {
  const bool is_lower_bound = step.unclassified_ns > 0 || step.fused_ns > 0;
  if (step.comm_ns == 0) return is_lower_bound ? "No other communication was found." : "No communication was found.";
  if (step.exposed_ns == 0)
    return fmt::format("No {}communication is {}exposed: all of it ({}) runs during compute.",
                       is_lower_bound ? "other " : "", is_lower_bound ? "known to be " : "", ms(step.comm_ns));
  return fmt::format("{}{} ({}) is exposed communication{}.", is_lower_bound ? "At least " : "", ms(step.exposed_ns),
                     pct(step.exposed_ns, step.step_ns), mode_clause(step));
}

// The fused or unclassified kernel with the most time, and why it is one: "mostly NAME: REASON".
std::string main_doubt(const Trace& trace, AttributionSource source) {
  std::map<std::pair<NameId, NameId>, double> times;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (const Attribution& attribution = trace.attribution(i); attribution.source == source)
      times[{trace.name(i), attribution.reason}] += static_cast<double>(trace.duration_ns()[i]);
  if (times.empty()) return "";
  const auto& [name, reason] = std::ranges::max_element(times, {}, [](const auto& time) { return time.second; })->first;
  const std::string_view text = name_of(name);
  const std::string kernel = text.empty() ? "unnamed kernels" : short_work_name(text);
  return fmt::format("{}{}: {}", times.size() > 1 ? "mostly " : "", kernel, name_of(reason));
}

std::string unclassified_sentence(const Trace& trace, const TypicalStep& step) {
  if (step.unclassified_ns == 0) return "";
  return fmt::format("{} ({}) counts as compute, but may be communication; {}.", ms(step.unclassified_ns),
                     pct(step.unclassified_ns, step.step_ns), main_doubt(trace, AttributionSource::unclassified));
}

std::string fused_sentence(const Trace& trace, const TypicalStep& step) {
  if (step.fused_ns == 0) return "";
  return fmt::format("{} ({}) counts as compute, but is in fused kernels, which also communicate; {}.",
                     ms(step.fused_ns), pct(step.fused_ns, step.step_ns), main_doubt(trace, AttributionSource::fused));
}

// What most of the idle time of the shown windows waits for; empty where the trace proves no cause of at least half.
std::string idle_cause(const Trace& trace, const Summary& summary) {
  IdleTime sum;
  for (const auto& [rank, idle] : find_idle_causes(trace, summary.shown_windows()))
    for (std::size_t i = 0; i < kNumIdleCauses; ++i) sum.ns[i] += idle.ns[i];
  const auto most = std::ranges::max_element(sum.ns);
  const auto cause = static_cast<IdleCause>(most - sum.ns.begin());
  if (static_cast<double>(*most) < kMost * static_cast<double>(sum.total_ns())) return "";
  switch (cause) {
    case IdleCause::launch: return ", mostly waiting for kernel launches";
    case IdleCause::wait: return ", mostly waiting for an event or a peer";
    case IdleCause::pipeline: return ", mostly waiting for another pipeline stage";
    case IdleCause::not_known: break;
  }
  return "; the trace does not show why";
}

std::string idle_sentence(const Trace& trace, const Summary& summary, const TypicalStep& step) {
  const bool has_devices = std::ranges::any_of(
      trace.tracks, [](const Track& track) { return track.kind == TrackKind::stream && track.device >= 0; });
  return fmt::format("{} are idle for {} ({}){}.", has_devices ? "GPUs" : "Ranks", ms(step.idle_ns),
                     pct(step.idle_ns, step.step_ns), idle_cause(trace, summary));
}

// The name of the kernels that communicate longest, without its arguments.
std::string main_kernel(const Trace& trace) {
  std::map<NameId, double> lengths;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.tag(i).kind == Kind::communication) lengths[trace.name(i)] += static_cast<double>(trace.duration_ns()[i]);
  if (lengths.empty()) return "unnamed kernels";
  const NameId longest = std::ranges::max_element(lengths, {}, [](const auto& name) { return name.second; })->first;
  const std::string_view name = name_of(longest);
  return name.empty() ? "unnamed kernels" : short_work_name(name);
}

std::string because(LateCause cause) {
  const bool is_its_own =
      cause != LateCause::longer_wait && cause != LateCause::pipeline && cause != LateCause::unresolved;
  return is_its_own ? fmt::format(", {}", clause_of(cause)) : "";
}

// "rank 7 of 8 has no trace"
std::string missing_clause(const Trace& trace, const Summary& summary) {
  if (!summary.communications || summary.communications->missing_ranks.empty()) return "give the traces of all ranks";
  const std::vector<std::int32_t>& missing = summary.communications->missing_ranks;
  const std::size_t size = missing.size() + ranks_of(trace).size();
  if (missing.size() == 1) return fmt::format("rank {} of {} has no trace", missing.front(), size);
  return fmt::format("{} of {} ranks have no trace", missing.size(), size);
}

// The late rank if some ranks have no trace; empty if the others cannot be compared.
std::string partial_clause(const Trace& trace, const Summary& summary) {
  if (!summary.communications || summary.communications->matching.partly_matched_slices == 0 || !summary.waits)
    return "";
  const auto late = summary.waits->late_rank();
  if (!late) return "";
  return fmt::format("; {}; among the others, {} of all wait time is for rank {}{}.", missing_clause(trace, summary),
                     pct(late->share, 1), late->rank, because(late->cause));
}

// What the exposed time is spent on, and who is waited for.
std::string cause_sentence(const Trace& trace, const Summary& summary, const TypicalStep& step) {
  if (step.exposed_ns == 0) return "";
  const auto [purpose, exposed_ns] = largest(step.exposed_of_purposes);
  std::string text;
  if (purpose != kNoMode)
    text = exposed_ns >= kAll * step.exposed_ns
               ? fmt::format("All of it is {}", purpose)
               : fmt::format("{} ({}) is {}", exposed_ns >= kMost * step.exposed_ns ? "Most of it" : "The largest part",
                             ms(exposed_ns), purpose);
  else
    text = fmt::format("The longest communication kernel is {}", main_kernel(trace));
  if (!step.is_wait_known) {
    const bool has_peers = ranks_of(trace).size() > 1;
    const bool is_matched = summary.communications && summary.communications->matching.matched_slices > 0;
    if (const std::string partial = partial_clause(trace, summary); !partial.empty()) return text + partial;
    if (has_peers && is_matched && !summary.clock_residual_ns)
      return text + "; the late rank is unknown: a single collective cannot align the ranks' clocks.";
    return text + (has_peers ? "; the late rank is unknown: the ranks' collectives could not be matched."
                             : "; the late rank is unknown: " + missing_clause(trace, summary) + ".");
  }
  if (step.wait_ns == 0)
    return text + (step.unsplit_ns > 0 ? "; no waiting was found." : "; none of the exposed time is waiting.");
  text += fmt::format("; {} of the exposed time is waiting", pct(step.wait_ns, step.exposed_ns));
  const auto late = notable_late_rank(summary);
  if (late && late->share >= kMost)
    return text + fmt::format("; {} of all wait time is for rank {}{}.", pct(late->share, 1), late->rank,
                              because(late->cause));
  return text + (step.wait_ns >= kMost * step.exposed_ns ? ", not for any one rank in particular." : ".");
}

// The reason for most of the exposed time. Omits late ranks, which cause_sentence() reports.
std::string reason_sentence(const Summary& summary, const TypicalStep& step) {
  std::map<std::string, double> reasons, guessed;
  double all = 0;
  for (const ExposureReasonSum& sum : summary.reasons.sums) {
    const auto ns = static_cast<double>(sum.exposed_ns);
    all += ns;
    if (sum.reason == ExposureReason::late_rank || sum.reason == ExposureReason::unknown) continue;
    reasons[clause_of(sum)] += ns;
    if (sum.is_guessed) guessed[clause_of(sum)] += ns;
  }
  if (reasons.empty()) return "";
  const auto [clause, ns] = largest(reasons);
  if (ns < kMost * all) return "";
  const bool is_guessed = guessed[clause] >= kMost * ns;
  return fmt::format("{} for {} of the exposed time{}: {}.", is_guessed ? "Probable reason" : "Reason",
                     ns >= kAll * all ? "all" : "most", step.is_wait_known ? "" : ", if no rank is late", clause);
}

}  // namespace

std::string analysis_table(const Trace& trace, const Summary& summary, const TableFormat& format,
                           std::span<const Breakdown> asked) {
  std::string text = faults_text(trace, summary, format.width);
  const bool has_any =
      std::ranges::any_of(summary.shown(), [](const RankSummary& rank) { return !rank.windows.empty(); });
  if (!has_any)
    return text + "The trace has no measured step: no breakdown is possible.\n" + notes_text(trace, format.width);
  for (const std::string& sentence : headline(trace, summary)) text += wrap(sentence, format.width);
  text += "\n" + title_of(summary, Breakdown::rank) + "\n";
  if (!summary.has_steps) text += wrap("Steps: " + steps_text(summary.steps) + ".", format.width);
  if (const auto ranks = trace.metadata.find("ranks"); ranks != trace.metadata.end())
    text += wrap("Ranks: " + ranks->second + ".", format.width);
  const bool wants_all = std::ranges::find(asked, Breakdown::rank) != asked.end();
  const FigureTable ranks = wants_all ? breakdown(trace, summary, Breakdown::rank) : rank_table(summary);
  text += "\n" + render(ranks, format);
  if (ranks.rows.size() < summary.shown().size())
    text +=
        fmt::format("Showing the least and most exposed of {} ranks; --by rank shows all.\n", summary.shown().size());
  for (const Breakdown by : asked)
    if (by != Breakdown::rank) text += text_of(trace, summary, by, format);
  return text + notes_text(trace, format.width);
}

std::string one_line(const Summary& summary) {
  const TypicalStep step = typical_step(summary);
  if (step.ranks == 0) return "no measured step";
  std::string text = fmt::format("{} {}", summary.shows_steps() ? "step" : "trace", ms(step.step_ns));
  if (step.comm_ns == 0) return text + ", no communication";
  text += fmt::format(", exposed communication {}", ms(step.exposed_ns));
  if (step.exposed_ns == 0) return text;
  text += fmt::format(" ({})", pct(step.exposed_ns, step.step_ns));
  std::string most;
  for (const auto* parts : {&step.exposed_of_modes, &step.exposed_of_purposes})
    if (const auto [name, ns] = largest(*parts); name != kNoMode && ns >= kMost * step.exposed_ns) most += " " + name;
  if (!most.empty()) text += ", mostly" + most;
  const auto late = summary.waits ? summary.waits->late_rank() : std::nullopt;
  if (late && late->share >= kMost && step.wait_ns >= kMost * step.exposed_ns)
    text += fmt::format(", waiting for rank {}", late->rank);
  return text;
}

std::vector<std::string> headline(const Trace& trace, const Summary& summary) {
  const TypicalStep step = typical_step(summary);
  if (step.ranks == 0) return {};
  std::vector<std::string> sentences;
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  };
  add(unclassified_sentence(trace, step));
  add(step_sentence(summary, step));
  add(fused_sentence(trace, step));
  // The largest cost first.
  const bool idles_most = step.idle_ns > step.exposed_ns;
  const bool is_idle_worth_it = step.idle_ns >= kWorthSaying * step.step_ns;
  if (idles_most && is_idle_worth_it) add(idle_sentence(trace, summary, step));
  add(exposed_sentence(step));
  add(cause_sentence(trace, summary, step));
  if (step.exposed_ns >= kWorthSaying * step.step_ns) add(reason_sentence(summary, step));
  if (!idles_most && is_idle_worth_it) add(idle_sentence(trace, summary, step));
  return sentences;
}

std::vector<std::string> faults(const Trace& trace, const Summary& summary) {
  std::vector<std::string> sentences;
  std::string skipped;
  for (const auto& [reason, count] : trace.import.skipped)
    if (!reason.starts_with(kHostReason))
      skipped += fmt::format("{}skipped {}: {}", skipped.empty() ? "" : "; ", count, reason);
  if (!skipped.empty())
    sentences.push_back("Part of the trace could not be used, so results may be wrong: " + skipped + ".");
  for (const std::string& error : summary.window_errors) sentences.push_back("no windows: " + error);
  return sentences;
}

std::vector<std::string> notes_on(const Trace& trace) {
  std::vector<std::string> notes;
  // Work that began before the call which launched it.
  if (const auto found = trace.metadata.find("work_before_its_launch"); found != trace.metadata.end())
    notes.push_back(
        fmt::format("{} kernels, copies or memsets start before the call that launched them: host and "
                    "device clocks differ.",
                    found->second));
  if (const auto found = trace.metadata.find("advice"); found != trace.metadata.end()) notes.push_back(found->second);
  return notes;
}

}  // namespace underlap::analysis
