// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/compare_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "platform/text/escape.hpp"

namespace underlap::compare {
namespace {

constexpr std::size_t kInSentence = 60;
constexpr std::size_t kInTable = 37;  // with figures and a stream's name this fills 80 columns
constexpr std::size_t kMostOperations = 10;
constexpr std::size_t kMostInMarkdown = 30;

using Figure = std::optional<double>;

std::string ms(double ns) { return fmt::format("{:.{}f}", ns / 1e6, std::abs(ns) < 1e7 ? 3 : 2); }

std::string signed_ms(double ns) { return fmt::format("{:+.{}f}", ns / 1e6, std::abs(ns) < 1e7 ? 3 : 2); }

std::string ms(const Figure& ns) { return ns ? ms(*ns) : "-"; }
std::string signed_ms(const Figure& ns) { return ns ? signed_ms(*ns) : "-"; }

double per_window(const TraceChange& change, std::int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(change.windows);
}

std::string change_in_words(const Comparison& comparison) {
  const double delta = comparison.delta_ns();
  const std::string times =
      fmt::format("{} ms instead of {} ms", ms(comparison.to_step_ns), ms(comparison.from_step_ns));
  if (delta == 0) return fmt::format("the step takes the same time, {} ms", ms(comparison.to_step_ns));
  const double pct = 100 * std::abs(delta) / comparison.from_step_ns;
  return fmt::format("the step takes {:.{}f} % {}, {}", pct, pct < 0.05 ? 4 : 1, delta > 0 ? "longer" : "less time",
                     times);
}

// The part that changed most in the direction of the step.
std::string part_in_words(const TraceChange& change, double direction) {
  const std::vector<StepPart> parts = parts_of(change);
  const StepPart* most = nullptr;
  for (const StepPart& part : parts)
    if (!part.is_within && (most == nullptr || direction * *part.delta_ns() > direction * *most->delta_ns()))
      most = &part;
  if (most == nullptr || direction * *most->delta_ns() <= 0) return "";
  const std::string amount =
      fmt::format(": {} ms {}", ms(std::abs(*most->delta_ns())), direction > 0 ? "more" : "less");
  if (most->name.starts_with("exposed "))
    return fmt::format("{} {} communication is exposed", amount, most->name.substr(8));
  return amount + (most->name == "compute" ? " compute" : most->name == "idle" ? " idle time" : " copies alone");
}

std::string layers_text(const NetOperation& operation) {
  if (operation.first_layer < 0) return "";
  return operation.first_layer == operation.last_layer
             ? fmt::format("layer {}", operation.first_layer)
             : fmt::format("layers {}-{}", operation.first_layer, operation.last_layer);
}

std::string match_text(const NetOperation& operation) {
  return operation.match == Match::both ? "" : fmt::format(" ({})", to_string(operation.match));
}

// The operation that changed the step most, with `how` after its name; empty without such an operation.
std::string most_of(const Comparison& comparison, const std::string& how = "") {
  const double direction = comparison.delta_ns() < 0 ? -1 : 1;
  for (const NetOperation& operation : comparison.change->net) {
    if (operation.kind == "idle" || direction * static_cast<double>(operation.step_delta_ns()) <= 0) continue;
    const std::string of_layers = operation.is_of_some_layers ? " of " + layers_text(operation) : "";
    return fmt::format("{}{}{}{} {} ms", short_name(operation.name, kInSentence), match_text(operation), of_layers, how,
                       signed_ms(per_window(*comparison.change, operation.step_delta_ns())));
  }
  return "";
}

Table parts_table(const Comparison& comparison) {
  const TraceChange& change = *comparison.change;
  Table table{{{"ms per step", Align::left}, {"baseline"}, {"candidate"}, {"change"}}, {}};
  for (const StepPart& part : parts_of(change))
    table.rows.push_back(
        {(part.is_within ? "  " : "") + part.name, ms(part.from_ns), ms(part.to_ns), signed_ms(part.delta_ns())});
  const auto add = [&](const char* name, double from_ns, double to_ns) {
    table.rows.push_back({std::string(name), ms(from_ns), ms(to_ns), signed_ms(to_ns - from_ns)});
  };
  add("mean step (sum)", per_window(change, change.from.window_ns), per_window(change, change.to.window_ns));
  add("typical step (median)", comparison.from_step_ns, comparison.to_step_ns);
  if (comparison.from_exposed_ns && comparison.to_exposed_ns)
    add("  of it exposed", *comparison.from_exposed_ns, *comparison.to_exposed_ns);
  return table;
}

std::string count_text(std::int64_t count, const TraceChange& change) {
  const double of_step = per_window(change, count);
  return fmt::format("{:.{}f}", of_step, of_step == std::floor(of_step) ? 0 : 1);
}

// "14 -> 8 (2 added, 8 removed)"; omits the number of operations with a counterpart.
std::string counts_text(const NetOperation& operation, const TraceChange& change) {
  if (operation.kind == "idle") return "";
  const std::string from = count_text(operation.from_count, change), to = count_text(operation.to_count, change);
  std::string text = from == to ? from : from + " -> " + to;
  if (operation.match != Match::both) return text;
  const bool is_added = operation.added > 0, is_removed = operation.removed > 0;
  if (is_added || is_removed) text += " (";
  if (is_added) text += count_text(operation.added, change) + " added";
  if (is_added && is_removed) text += ", ";
  if (is_removed) text += count_text(operation.removed, change) + " removed";
  return is_added || is_removed ? text + ")" : text;
}

enum class Names : std::uint8_t { whole, shortened };

// With what is said of them, as the table of operations shows them.
std::vector<std::string> names_of(std::span<const NetOperation> operations, Names names) {
  std::vector<std::string> suffixes;
  std::vector<LongName> whole;
  for (const NetOperation& operation : operations) {
    const std::string layers = operation.first_layer < 0 ? "" : ", " + layers_text(operation);
    suffixes.push_back(layers + match_text(operation));
    // Reserves the same length for added and removed operations, so that equal names are cut alike.
    const std::size_t match = operation.match == Match::both ? 0 : std::string_view(" (removed)").size();
    whole.push_back({operation.name, kInTable - layers.size() - match});
  }
  std::vector<std::string> shown;
  if (names == Names::shortened) shown = short_names(whole);
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (names == Names::whole)
      shown.push_back(operations[i].name + suffixes[i]);
    else
      shown[i] += suffixes[i];
  return shown;
}

// Those that changed the step, at most `most`.
std::span<const NetOperation> largest(const TraceChange& change, std::size_t most) {
  const auto none = std::ranges::find(change.net, 0, &NetOperation::step_delta_ns);
  const auto changed = static_cast<std::size_t>(none - change.net.begin());
  return {change.net.data(), std::min(most, changed)};
}

Table operations_table(const TraceChange& change, std::size_t most, Names names) {
  Table table{{{"largest change", Align::left},
               {"kind", Align::left, 4},
               {"stream", Align::left, 1, 20},
               {"count", Align::right, 3},
               {"baseline"},
               {"candidate"},
               {"change ms"}},
              {}};
  const std::span<const NetOperation> operations = largest(change, most);
  const std::vector<std::string> shown = names_of(operations, names);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const NetOperation& operation = operations[i];
    const std::string kind = operation.mode.empty() ? operation.kind : operation.mode + " comm";
    table.rows.push_back({shown[i], kind, operation.stream, counts_text(operation, change),
                          ms(per_window(change, operation.from_step_ns)), ms(per_window(change, operation.to_step_ns)),
                          signed_ms(per_window(change, operation.step_delta_ns()))});
  }
  return table;
}

Table sums_table(const TraceChange& change, const std::string& what, std::string OperationChange::*member) {
  Table table{{{what, Align::left}, {"baseline"}, {"candidate"}, {"change ms"}}, {}};
  for (const StepSum& sum : sums_by(change.operations, member)) {
    if (sum.step_delta_ns() == 0) break;
    table.rows.push_back({sum.name, ms(per_window(change, sum.from_step_ns)), ms(per_window(change, sum.to_step_ns)),
                          signed_ms(per_window(change, sum.step_delta_ns()))});
  }
  return table;
}

Table cells_table(const CompareReport& report) {
  Table table{{{"cell", Align::left},
               {"baseline ms"},
               {"candidate ms"},
               {"change"},
               {"largest contribution", Align::left, 1, 40}},
              {}};
  for (const Comparison& comparison : report.comparisons) {
    table.rows.push_back({comparison.name, ms(comparison.from_step_ns), ms(comparison.to_step_ns),
                          fmt::format("{:+.1f} %", 100 * comparison.delta_ns() / comparison.from_step_ns),
                          comparison.change ? most_of(comparison) : ""});
  }
  return table;
}

std::vector<const Comparison*> shown(const CompareReport& report, Details details) {
  std::vector<const Comparison*> all;
  for (const Comparison& comparison : report.comparisons) all.push_back(&comparison);
  if (details == Details::all || all.size() < 2) return all;
  return {*std::ranges::max_element(
      all, {}, [](const Comparison* one) { return std::abs(one->delta_ns()) / std::max(one->from_step_ns, 1.0); })};
}

std::string matched_text(const TraceChange& change) {
  return change.is_matched_by_tags ? "operations are matched by their tags"
                                   : "operations are matched by name, launch shape and order within the step";
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
  if (!comparison.change || comparison.delta_ns() == 0) return text;
  const double direction = comparison.delta_ns() < 0 ? -1 : 1;
  const std::string most = most_of(comparison, direction > 0 ? " grew most," : " shrank most,");
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
    text += wrap(fmt::format("{} window{} of each side; {}", change.windows, change.windows == 1 ? "" : "s",
                             matched_text(change)),
                 format.width);
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
                        markdown(operations_table(*comparison.change, kMostInMarkdown, Names::whole)));
  }
  return text;
}

}  // namespace underlap::compare
