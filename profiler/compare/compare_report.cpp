// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/compare_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "platform/text/escape.hpp"
#include "profiler/compare/compare_tables.hpp"

namespace underlap::compare {
namespace {

constexpr std::size_t kMostOperations = 10;
constexpr std::size_t kMostInMarkdown = 30;

bool takes_the_same_time(const Comparison& comparison) {
  return ms(comparison.to_step_ns) == ms(comparison.from_step_ns);
}

std::string change_in_words(const Comparison& comparison) {
  const double delta = comparison.delta_ns();
  const std::string times =
      fmt::format("{} ms instead of {} ms", ms(comparison.to_step_ns), ms(comparison.from_step_ns));
  if (takes_the_same_time(comparison))
    return fmt::format("the step takes the same time, {} ms", ms(comparison.to_step_ns));
  const double pct = 100 * std::abs(delta) / comparison.from_step_ns;
  return fmt::format("the step takes {:.{}f} % {}, {}", pct, pct < 0.05 ? 2 : 1, delta > 0 ? "longer" : "less time",
                     times);
}

// The part that changed most in the direction of the step.
std::string part_in_words(const TraceChange& change, double direction) {
  const std::vector<StepPart> parts = parts_of(change);
  const StepPart* most = nullptr;
  for (const StepPart& part : parts)
    if (!part.is_within && (most == nullptr || direction * *part.delta_ns() > direction * *most->delta_ns()))
      most = &part;
  if (most == nullptr || direction * *most->delta_ns() <= 0 || is_shown_as_zero(*most->delta_ns())) return "";
  const std::string amount =
      fmt::format(": {} ms {}", ms(std::abs(*most->delta_ns())), direction > 0 ? "more" : "less");
  if (most->name.starts_with("exposed "))
    return fmt::format("{} {} communication is exposed", amount, most->name.substr(8));
  return amount + (most->name == "compute" ? " compute" : most->name == "idle" ? " idle time" : " copies alone");
}

std::vector<const Comparison*> shown(const CompareReport& report, Details details) {
  std::vector<const Comparison*> all;
  for (const Comparison& comparison : report.comparisons) all.push_back(&comparison);
  if (details == Details::all || all.size() < 2) return all;
  return {*std::ranges::max_element(
      all, {}, [](const Comparison* one) { return std::abs(one->delta_ns()) / std::max(one->from_step_ns, 1.0); })};
}

// Only if there are several modes. Time that two modes expose at once counts for both. If one side could not split a
// mode's exposed time, its waits are unknown and left out.
void add_waits_by_mode(const TraceChange& change, std::vector<StepPart>& parts) {
  const auto modes = paired(change.from.modes, change.to.modes);
  if (modes.size() < 2) return;
  for (const auto& [mode, sides] : modes) {
    const auto& [one, other] = sides;
    if (!analysis::is_split(one.exposed_unsplit_ns, one.exposed_ns) ||
        !analysis::is_split(other.exposed_unsplit_ns, other.exposed_ns))
      continue;
    const auto add = [&, of = mode + " exposed "](const char* what, std::int64_t from_ns, std::int64_t to_ns) {
      if (from_ns != 0 || to_ns != 0)
        parts.push_back({of + what, per_window(change, from_ns), per_window(change, to_ns), true});
    };
    add("wait", one.exposed_wait_ns, other.exposed_wait_ns);
    add("transfer", one.exposed_transfer_ns, other.exposed_transfer_ns);
    add("not split", one.exposed_unsplit_ns, other.exposed_unsplit_ns);
  }
}

// A wait of 0 ms would mean that no rank waited.
void forget_unknown(const TraceChange& change, StepPart& part) {
  if (!waits_are_known(change.from)) part.from_ns.reset();
  if (!waits_are_known(change.to)) part.to_ns.reset();
}

}  // namespace

bool waits_are_known(const analysis::Split& split) {
  return analysis::is_split(split.exposed_unsplit_ns, split.exposed_ns());
}

std::vector<StepPart> parts_of(const TraceChange& change) {
  std::vector<StepPart> parts;
  const auto add = [&](const std::string& name, std::int64_t from, std::int64_t to, bool is_within = false) {
    StepPart& part = parts.emplace_back();
    part.name = name;
    part.from_ns = per_window(change, from);
    part.to_ns = per_window(change, to);
    part.is_within = is_within;
  };
  add("compute", change.from.compute_ns(), change.to.compute_ns());
  add("common kernels (contention)", change.compute.from.same_kernels_ns, change.compute.to.same_kernels_ns, true);
  add("other kernels (decomposition)", change.compute.from.other_kernels_ns, change.compute.to.other_kernels_ns, true);
  add("minus concurrent kernels (concurrency)", -change.compute.from.concurrency_ns, -change.compute.to.concurrency_ns,
      true);
  const auto modes = paired(change.from.exposed_ns_by_modes, change.to.exposed_ns_by_modes);
  for (const auto& [mode, ns] : modes) add("exposed " + mode, ns.first, ns.second);
  add_waits_by_mode(change, parts);
  if (!modes.empty()) {
    add("total exposed wait", change.from.exposed_wait_ns, change.to.exposed_wait_ns, true);
    forget_unknown(change, parts.back());
    add("total exposed transfer", change.from.exposed_transfer_ns(), change.to.exposed_transfer_ns(), true);
    forget_unknown(change, parts.back());
    add("total exposed, not split", change.from.exposed_unsplit_ns, change.to.exposed_unsplit_ns, true);
  }
  add("copies alone", change.from.copy_only_ns, change.to.copy_only_ns);
  add("idle", change.from.idle_ns, change.to.idle_ns);
  return parts;
}

std::string sentence_of(const Comparison& comparison) {
  std::string text = change_in_words(comparison);
  if (!comparison.change || takes_the_same_time(comparison)) return text;
  const double direction = comparison.delta_ns() < 0 ? -1 : 1;
  const std::string most = largest_change(comparison, direction > 0 ? " grew most," : " shrank most,");
  return fmt::format("{}{}{}{}", text, part_in_words(*comparison.change, direction), most.empty() ? "" : "; ", most);
}

std::string compare_text(const CompareReport& report, const TableFormat& format, Details details) {
  std::string text;
  if (!report.forced.empty()) text += wrap("not comparable, forced: " + report.forced, format.width, "  ");
  for (const std::string& note : report.notes) text += wrap("note: " + note, format.width, "  ");
  if (!report.differences.empty()) text += render(differences_table(report.differences), format);
  if (!text.empty()) text += "\n";
  const std::vector<const Comparison*> comparisons = shown(report, details);
  for (const Comparison* comparison : comparisons)
    text +=
        wrap(fmt::format("{}{}{}", comparison->name, comparison->name.empty() ? "" : ": ", sentence_of(*comparison)),
             format.width, "  ");
  if (report.comparisons.size() > 1) text += "\n" + render(cells_table(report), format);
  for (const Comparison* comparison : comparisons) {
    if (!comparison->change) continue;
    const TraceChange& change = *comparison->change;
    text += "\n";
    if (report.comparisons.size() > 1) text += comparison->name + "\n";
    text += render(parts_table(*comparison), format);
    if (details == Details::all && !change.net.empty() && change.net.front().step_delta_ns() != 0) {
      text += "\n" + render(sums_table(change, "by stream", &OperationChange::stream), format);
      text += "\n" + render(sums_table(change, "by purpose", &OperationChange::purpose), format);
    }
    const Table operations =
        operations_table(change, details == Details::all ? change.net.size() : kMostOperations, Names::shortened);
    if (!operations.rows.empty()) text += "\n" + render(operations, format);
    for (const std::string& sentence : change.left_out) text += wrap("note: " + sentence, format.width, "  ");
    text += wrap(windows_text(change), format.width);
  }
  return text;
}

std::string compare_markdown(const CompareReport& report) {
  std::string text = fmt::format("### {} against {}\n\n", markdown_text(report.to), markdown_text(report.from));
  if (!report.forced.empty()) text += fmt::format("> not comparable, forced: {}\n\n", markdown_text(report.forced));
  for (const std::string& note : report.notes) text += fmt::format("> {}\n\n", markdown_text(note));
  if (!report.differences.empty()) text += markdown(differences_table(report.differences)) + "\n";
  for (const Comparison& comparison : report.comparisons)
    text += fmt::format("- {}{}\n", comparison.name.empty() ? "" : "**" + markdown_text(comparison.name) + "**: ",
                        markdown_text(sentence_of(comparison)));
  for (const Comparison& comparison : report.comparisons) {
    if (!comparison.change) continue;
    // A name in <code> cannot mention a user.
    text += fmt::format("\n<details><summary>{}</summary>\n\n{}\n{}\n</details>\n",
                        comparison.name.empty() ? "Where the difference went"
                                                : fmt::format("<code>{}</code>", markup_text(comparison.name)),
                        markdown(parts_table(comparison)),
                        markdown(operations_table(*comparison.change, kMostInMarkdown, Names::shortened)));
  }
  return text;
}

}  // namespace underlap::compare
