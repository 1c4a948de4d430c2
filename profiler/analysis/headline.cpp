// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/headline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "profiler/analysis/waits.hpp"

namespace underlap::analysis {
namespace {

constexpr std::string_view kUnattributed = "unattributed";
constexpr double kMost = 0.5;  ///< of a whole, that is its most
constexpr double kAll = 0.995;

std::string ms(double ns) {
  const int decimals = ns >= 1e8 ? 1 : ns >= 1e7 ? 2 : 3;
  return fmt::format("{:.{}f} ms", ns / 1e6, decimals);
}

std::string pct(double part, double whole) {
  const double value = 100 * part / whole;
  return value < 0.05 ? "under 0.1 %" : fmt::format("{:.{}f} %", value, value < 9.95 ? 1 : 0);
}

// The mean rank's figures in the median step.
struct MeanRank {
  std::size_t ranks = 0, fewest_steps = SIZE_MAX, most_steps = 0;
  double length_ns = 0, comm_ns = 0, exposed_ns = 0, wait_ns = 0;
  bool is_wait_known = true;
  std::map<std::string, double> exposed_of_modes;
  std::map<std::string, double> exposed_of_purposes;
};

MeanRank mean_rank(const Summary& summary) {
  MeanRank mean;
  for (const RankSummary& rank : summary.shown()) {
    if (rank.windows.empty()) continue;
    ++mean.ranks;
    mean.fewest_steps = std::min(mean.fewest_steps, rank.windows.size());
    mean.most_steps = std::max(mean.most_steps, rank.windows.size());
    const auto median = [&](auto part) { return median_of(rank.splits, part); };
    mean.length_ns += median([](const Split& s) { return s.window_ns; });
    mean.comm_ns += median([](const Split& s) { return s.comm_ns(); });
    mean.exposed_ns += median([](const Split& s) { return s.exposed_ns(); });
    mean.wait_ns += median([](const Split& s) { return s.exposed_wait_ns; });
    mean.is_wait_known &= is_split(rank.total.exposed_unsplit_ns, rank.total.exposed_ns());
    for (const auto& [mode, total] : rank.total.modes)
      mean.exposed_of_modes[mode] += median_of(rank.splits, &Split::modes, mode, &CommunicationSplit::exposed_ns);
    for (const auto& [purpose, total] : rank.total.purposes)
      mean.exposed_of_purposes[purpose] +=
          median_of(rank.splits, &Split::purposes, purpose, &CommunicationSplit::exposed_ns);
  }
  const auto ranks = static_cast<double>(mean.ranks);
  for (double* sum : {&mean.length_ns, &mean.comm_ns, &mean.exposed_ns, &mean.wait_ns}) *sum /= ranks;
  for (auto* parts : {&mean.exposed_of_modes, &mean.exposed_of_purposes})
    for (auto& [key, sum] : *parts) sum /= ranks;
  return mean;
}

std::pair<std::string, double> largest(const std::map<std::string, double>& parts) {
  return *std::ranges::max_element(parts, {}, [](const auto& part) { return part.second; });
}

std::string length_sentence(const Summary& summary, const MeanRank& mean) {
  const std::string ranks = mean.ranks > 1 ? fmt::format(", mean of {} ranks", mean.ranks) : "";
  if (!summary.shows_steps())
    return fmt::format("The trace spans {}{}; where its steps begin and end is not known.", ms(mean.length_ns), ranks);
  const std::string steps = mean.fewest_steps == mean.most_steps
                                ? fmt::format("{}", mean.most_steps)
                                : fmt::format("{} to {}", mean.fewest_steps, mean.most_steps);
  if (mean.most_steps == 1) return fmt::format("The one step takes {}{}.", ms(mean.length_ns), ranks);
  return fmt::format("A step takes {} (median of {}{}).", ms(mean.length_ns), steps, ranks);
}

std::string mode_clause(const MeanRank& mean) {
  const auto [mode, exposed_ns] = largest(mean.exposed_of_modes);
  const bool is_all = exposed_ns >= kAll * mean.exposed_ns;
  if (mode == kUnattributed)
    return is_all ? ", of a mode that the trace does not tell (--mode-map can)"
                  : fmt::format(", {} of it of a mode that the trace does not tell (--mode-map can)", ms(exposed_ns));
  if (is_all) return ", all of it " + mode;
  return fmt::format(", {} {} ({})", exposed_ns >= kMost * mean.exposed_ns ? "mostly" : "the most of it", mode,
                     ms(exposed_ns));
}

std::string exposed_sentence(const MeanRank& mean) {
  if (mean.comm_ns == 0) return "No communication was seen in it.";
  if (mean.exposed_ns == 0)
    return fmt::format("None of it is exposed communication: all {} of communication run under compute.",
                       ms(mean.comm_ns));
  return fmt::format("{} of it ({}) is exposed communication{}.", ms(mean.exposed_ns),
                     pct(mean.exposed_ns, mean.length_ns), mode_clause(mean));
}

// The name of the kernels that communicate longest, without its arguments.
std::string main_kernel(const Trace& trace) {
  std::map<NameId, double> lengths;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.tag(i).kind == Kind::communication) lengths[trace.name(i)] += static_cast<double>(trace.duration_ns()[i]);
  if (lengths.empty()) return "kernels without a name";
  const NameId longest = std::ranges::max_element(lengths, {}, [](const auto& name) { return name.second; })->first;
  const std::string_view name = name_of(longest);
  return name.empty() ? "kernels without a name" : std::string(name.substr(0, name.find('(')));
}

std::string because(LateCause cause) {
  const bool is_its_own =
      cause != LateCause::longer_wait && cause != LateCause::pipeline && cause != LateCause::unresolved;
  return is_its_own ? fmt::format(", {}", clause_of(cause)) : "";
}

// What the exposed time is spent on, and who is waited for.
std::string cause_sentence(const Trace& trace, const Summary& summary, const MeanRank& mean) {
  if (mean.exposed_ns == 0) return "";
  const auto [purpose, exposed_ns] = largest(mean.exposed_of_purposes);
  std::string text;
  if (purpose != kUnattributed)
    text = exposed_ns >= kAll * mean.exposed_ns ? fmt::format("All of that is {}", purpose)
                                                : fmt::format("Most of that, {}, is {}", ms(exposed_ns), purpose);
  else
    text = fmt::format("Most of it is in {}", main_kernel(trace));
  if (!mean.is_wait_known) {
    const bool has_peers = ranks_of(trace).size() > 1;
    return text + (has_peers ? "; who is waited for cannot be told, since the ranks' collectives could not be matched."
                             : "; who is waited for cannot be told from one rank: give the traces of all ranks.");
  }
  if (mean.wait_ns == 0) return text + "; none of the exposed time is waiting.";
  text += fmt::format("; {} of the exposed time is waiting", pct(mean.wait_ns, mean.exposed_ns));
  const auto late = summary.waits ? summary.waits->late_rank() : std::nullopt;
  if (late && late->share >= kMost)
    return text +
           fmt::format(", {} of all waits for rank {}{}.", pct(late->share, 1), late->rank, because(late->cause));
  return text + (mean.wait_ns >= kMost * mean.exposed_ns ? ", for no one rank more than for the others." : ".");
}

}  // namespace

std::vector<std::string> headline(const Trace& trace, const Summary& summary) {
  const MeanRank mean = mean_rank(summary);
  if (mean.ranks == 0) return {};
  std::vector<std::string> sentences{length_sentence(summary, mean), exposed_sentence(mean)};
  if (std::string cause = cause_sentence(trace, summary, mean); !cause.empty()) sentences.push_back(std::move(cause));
  return sentences;
}

std::vector<std::string> faults(const Trace& trace, const Summary& summary) {
  std::vector<std::string> sentences;
  std::string skipped;
  for (const auto& [reason, count] : trace.import.skipped)
    skipped += fmt::format("{}skipped {}: {}", skipped.empty() ? "" : "; ", count, reason);
  if (!skipped.empty())
    sentences.push_back("Not all of the trace could be used, so its figures may be wrong: " + skipped + ".");
  for (const std::string& error : summary.window_errors) sentences.push_back("no windows: " + error);
  return sentences;
}

}  // namespace underlap::analysis
