// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/answer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "profiler/trace/enum_names.hpp"

namespace underlap::report {
namespace {

constexpr EnumNames<Verdict, 5> kVerdicts{{"faster", "slower", "unclear", "equal", "not_valid"}};

// What people would turn a knob for, and then what they would still like to know; as half-widths of an interval.
constexpr std::array<double, 2> kResolutions{0.05, 0.01};

bool is_valid(const CellResult& cell) { return cell.label != NumericsLabel::mismatch && cell.invalid_because.empty(); }

Verdict verdict_of(const Estimate& ratio, bool is_modelled) {
  if (is_modelled && !ratio.interval)
    return ratio.value < 1 ? Verdict::faster : ratio.value > 1 ? Verdict::slower : Verdict::equal;
  if (!ratio.interval) return Verdict::unclear;
  if (ratio.interval->high < 1) return Verdict::faster;
  return ratio.interval->low > 1 ? Verdict::slower : Verdict::unclear;
}

// The first difference that the blocks do not yet resolve.
void say_what_would_tell(PairAnswer& answer, const Estimate& ratio) {
  for (const double resolution : kResolutions) {
    const std::optional<std::int64_t> blocks = blocks_to_resolve(ratio, resolution);
    if (!blocks || *blocks <= ratio.blocks) continue;
    answer.resolution = resolution;
    answer.blocks_needed = blocks;
    return;
  }
}

// Of the modes that take time: groups of one rank have operations as well.
std::string only_mode(const CellSummary& summary) {
  std::string only;
  for (const auto& [mode, figures] : summary.modes) {
    if (!(figures.comm_ms > 0)) continue;
    if (!only.empty() || mode == "unattributed") return "";
    only = mode;
  }
  return only;
}

void describe_communication(PairAnswer& answer, const CellSummary& on, const CellSummary& off) {
  if (!on.overlap_pct) return;
  answer.hidden = *on.overlap_pct / 100;
  if (off.overlap_pct) answer.hidden_off = *off.overlap_pct / 100;
  answer.mode = only_mode(on);
  if (on.exposed_ms) answer.exposed_ms = on.exposed_ms->value;
  const auto exposed = [](const auto& of) { return of.second.exposed_ms; };
  const auto most = std::ranges::max_element(on.purposes, {}, exposed);
  if (most == on.purposes.end() || !(exposed(*most) > 0)) return;
  answer.exposed_purpose = most->first;
  answer.exposed_purpose_ms = exposed(*most);
}

// Compares means of the same steps, whose parts add up. An unclear verdict has nothing to explain.
void explain_lost_gain(PairAnswer& answer, const CellResult& off, const CellResult& on) {
  if (answer.verdict == Verdict::unclear || answer.verdict == Verdict::not_valid) return;
  const std::optional<TimeChange> change = where_time_went(off, on);
  if (!change) return;
  const std::int64_t hidden_ns = change->from.exposed_ns - change->to.exposed_ns;
  if (hidden_ns <= 0 || -2 * change->window_delta_ns() >= hidden_ns) return;
  answer.no_longer_exposed_ms = static_cast<double>(hidden_ns) * 1e-6;
  std::vector<NamedTime>& parts = answer.taken_back;
  if (const auto& compute = change->compute)
    parts = {{"longer kernels", compute->contention_ns},
             {"chunks, sums and casts", compute->decomposition_ns - compute->concurrency_ns}};
  else
    parts = {{"compute", change->compute_delta_ns()}};
  parts.push_back({"copies", change->to.copy_only_ns - change->from.copy_only_ns});
  parts.push_back({"idle time", change->to.idle_ns - change->from.idle_ns});
  std::erase_if(parts, [&](const NamedTime& part) { return 20 * part.ns < hidden_ns; });
  std::ranges::stable_sort(parts, std::ranges::greater(), &NamedTime::ns);
}

// A percentage with one digit where the figure is sharp enough for it to mean something.
int digits_of(const PairAnswer& answer) { return answer.interval && answer.interval->half_width() >= 0.02 ? 0 : 1; }

std::string percent(double share, int digits) { return fmt::format("{:.{}f}", 100 * share, digits); }

// "+3", and never "-0".
std::string signed_percent(double share, int digits) {
  const std::string text = fmt::format("{:+.{}f}", 100 * share, digits);
  return text.find_first_of("123456789") == std::string::npos ? text.substr(1) : text;
}

// "18 % faster [10, 35]"
std::string measured_text(const PairAnswer& answer) {
  const int digits = digits_of(answer);
  const double sign = answer.change < 0 ? -1 : 1;
  std::string text = fmt::format("{}{} % {}", answer.is_modelled ? "simulated " : "",
                                 percent(sign * answer.change, digits), sign < 0 ? "faster" : "slower");
  if (!answer.interval) return text;
  const auto [low, high] = std::minmax({sign * answer.interval->low, sign * answer.interval->high});
  return fmt::format("{} [{}, {}]", text, percent(low, digits), percent(high, digits));
}

// "18 % faster [10, 35]", or "at most 16 % faster, the gain of removing all communication (measured: ...)".
std::string changed_text(const PairAnswer& answer) {
  constexpr double kWorthSaying = 0.005;
  if (answer.credible_change() - answer.change < kWorthSaying) return measured_text(answer);
  return fmt::format("at most {} % faster, the gain of removing all communication (measured: {})",
                     percent(-answer.credible_change(), digits_of(answer)), measured_text(answer));
}

// Two figures that count: the spread that it comes from has no more.
std::int64_t rounded_up(std::int64_t blocks) {
  std::int64_t unit = 1;
  while (blocks / unit >= 100) unit *= 10;
  return (blocks + unit - 1) / unit * unit;
}

// "inconclusive (5 blocks): step -3 % [-12, +9]; about 40 blocks needed to resolve 5 %"
std::string unclear_text(const PairAnswer& answer) {
  const int digits = digits_of(answer);
  if (answer.limit.value_or(-1) >= 0 && answer.change < 0)
    return fmt::format("inconclusive: measured {}, but removing all communication gains nothing",
                       measured_text(answer));
  std::string text = fmt::format("inconclusive ({} block{}): step {} %", answer.blocks, answer.blocks == 1 ? "" : "s",
                                 signed_percent(answer.change, digits));
  if (!answer.interval) return text;
  text += fmt::format(" [{}, {}]", signed_percent(answer.interval->low, digits),
                      signed_percent(answer.interval->high, digits));
  if (answer.blocks_needed)
    text += fmt::format("; about {} blocks needed to resolve {:.0f} %", rounded_up(*answer.blocks_needed),
                        100 * answer.resolution.value_or(0));
  return text;
}

std::string verdict_text(const PairAnswer& answer) {
  switch (answer.verdict) {
    case Verdict::unclear: return unclear_text(answer);
    case Verdict::equal: return "simulated as fast as without overlap";
    case Verdict::not_valid: return "its times, or those without overlap, are invalid";
    case Verdict::faster:
    case Verdict::slower: break;
  }
  return changed_text(answer);
}

std::string milliseconds(double ms) { return fmt::format("{:.{}f} ms", ms, ms >= 10 ? 0 : ms >= 1 ? 1 : 2); }

// "hides 73 % of dp communication; 9.0 ms stay exposed, mostly grad_reduce_scatter"
std::string communication_text(const PairAnswer& answer) {
  constexpr double kWorthSaying = 0.005;  // what does not round to 0 %
  std::string text = fmt::format("hides {} % of {} communication", percent(*answer.hidden, 0),
                                 answer.mode.empty() ? "its" : answer.mode);
  if (answer.hidden_off.value_or(0) >= kWorthSaying)
    text += fmt::format(" (off: {} %)", percent(*answer.hidden_off, 0));
  if (!answer.exposed_ms) return text;
  if (answer.exposed_purpose.empty()) return text + "; nothing stays exposed";
  const bool is_half = 2 * answer.exposed_purpose_ms >= *answer.exposed_ms;
  return fmt::format("{}; {} stay exposed, {} {}", text, milliseconds(*answer.exposed_ms),
                     is_half ? "mostly" : "the largest part", answer.exposed_purpose);
}

// "108 ms less is exposed, offset by longer kernels (46 ms), chunks, sums and casts (35 ms), copies (27 ms)"
std::string lost_gain_text(const PairAnswer& answer) {
  std::string text = fmt::format("; {} less is exposed, offset by", milliseconds(answer.no_longer_exposed_ms));
  const char* separator = " ";
  for (const auto& [name, ns] : answer.taken_back)
    text +=
        fmt::format("{}{} ({})", std::exchange(separator, ", "), name, milliseconds(static_cast<double>(ns) * 1e-6));
  return text;
}

std::string count_text(const std::vector<PairAnswer>& answers, Verdict verdict, const char* words) {
  const auto count = std::ranges::count(answers, verdict, &PairAnswer::verdict);
  return count == 0 ? "" : fmt::format("{} {}", words, count);
}

// Of the step of `off`, by the cell without transfers that does its work.
std::optional<double> change_without_communication(const RunResults& results, const std::vector<CellSummary>& summaries,
                                                   std::size_t off) {
  const auto no_comm = find_references(results.cells, off).no_comm;
  if (!no_comm || !is_valid(results.cells[*no_comm])) return std::nullopt;
  const std::optional<Estimate>&with = summaries[off].step_ms, &without = summaries[*no_comm].step_ms;
  if (!with || !without || !(with->value > 0)) return std::nullopt;
  return without->value / with->value - 1;
}

}  // namespace

std::string_view to_string(Verdict verdict) { return kVerdicts[verdict]; }

std::vector<PairAnswer> answers_of(const RunResults& results, const std::vector<CellSummary>& summaries) {
  std::vector<PairAnswer> answers;
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const std::optional<Estimate>& ratio = summaries[i].step_ratio_to_off;
    const auto off = find_references(results.cells, i).off;
    if (!ratio || !off) continue;
    PairAnswer& answer = answers.emplace_back();
    answer.cell = summaries[i].name;
    answer.off_cell = summaries[i].off_cell;
    answer.is_modelled = !traits_of(results.info.backend).measures_time;
    answer.verdict = is_valid(results.cells[i]) && is_valid(results.cells[*off])
                         ? verdict_of(*ratio, answer.is_modelled)
                         : Verdict::not_valid;
    answer.change = ratio->value - 1;
    answer.limit = change_without_communication(results, summaries, *off);
    if (answer.verdict == Verdict::faster && answer.limit.value_or(-1) >= 0) answer.verdict = Verdict::unclear;
    if (ratio->interval) answer.interval = Interval{ratio->interval->low - 1, ratio->interval->high - 1};
    answer.blocks = ratio->blocks;
    if (answer.verdict == Verdict::unclear) say_what_would_tell(answer, *ratio);
    describe_communication(answer, summaries[i], summaries[*off]);
    explain_lost_gain(answer, results.cells[*off], results.cells[i]);
  }
  return answers;
}

std::string answer_text(const PairAnswer& answer) {
  std::string text = fmt::format("{}: {}", answer.cell, verdict_text(answer));
  if (answer.hidden && answer.verdict != Verdict::not_valid) text += "; " + communication_text(answer);
  if (!answer.taken_back.empty()) text += lost_gain_text(answer);
  return text;
}

std::string headline(const std::vector<PairAnswer>& answers) {
  if (answers.empty()) return "";
  if (answers.size() == 1) return answer_text(answers.front());
  std::string text = fmt::format("overlap on vs. off in {} pairs", answers.size());
  const char* separator = ": ";
  for (const auto& [verdict, words] : {std::pair{Verdict::faster, "faster in"},
                                       {Verdict::slower, "slower in"},
                                       {Verdict::equal, "equal in"},
                                       {Verdict::unclear, "inconclusive in"},
                                       {Verdict::not_valid, "invalid in"}}) {
    const std::string count = count_text(answers, verdict, words);
    if (!count.empty()) text += std::exchange(separator, ", ") + count;
  }
  const PairAnswer& first = *std::ranges::min_element(answers, {}, [](const PairAnswer& answer) {
    return std::tuple(answer.verdict != Verdict::faster, answer.verdict != Verdict::slower, answer.credible_change());
  });
  if (first.verdict == Verdict::faster || first.verdict == Verdict::slower)
    text += fmt::format("; {} of {}: {}, {}", first.verdict == Verdict::faster ? "best" : "least slow", answers.size(),
                        first.cell, changed_text(first));
  return text;
}

std::vector<PairAnswer> foremost(std::vector<PairAnswer> answers, std::size_t most) {
  if (answers.size() <= most) return answers;
  std::ranges::stable_sort(answers, {}, [](const PairAnswer& answer) {
    const bool is_clear = answer.verdict == Verdict::faster || answer.verdict == Verdict::slower;
    return std::pair(!is_clear, -std::abs(answer.change));
  });
  answers.resize(most);
  return answers;
}

}  // namespace underlap::report
