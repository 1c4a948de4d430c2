// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/compare_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

namespace underlap::compare {
namespace {

constexpr std::size_t kInSentence = 60;
constexpr std::size_t kInTable = 37;  // with figures and a stream's name this fills 80 columns

int decimals_of(double ns) { return std::abs(ns) < 1e7 ? 3 : 2; }

std::string layers_text(const NetOperation& operation) {
  if (operation.first_layer < 0) return "";
  return operation.first_layer == operation.last_layer
             ? fmt::format("layer {}", operation.first_layer)
             : fmt::format("layers {}-{}", operation.first_layer, operation.last_layer);
}

std::string match_text(const NetOperation& operation) {
  return operation.match == Match::both ? "" : fmt::format(" ({})", to_string(operation.match));
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

}  // namespace

std::string ms(std::optional<double> ns) { return ns ? fmt::format("{:.{}f}", *ns / 1e6, decimals_of(*ns)) : "-"; }

bool is_shown_as_zero(double ns) { return std::abs(ns) < 500; }

std::string signed_ms(std::optional<double> ns) {
  if (ns && is_shown_as_zero(*ns)) return ms(0);
  return ns ? fmt::format("{:+.{}f}", *ns / 1e6, decimals_of(*ns)) : "-";
}

double per_window(const TraceChange& change, std::int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(change.windows);
}

std::string largest_change(const Comparison& comparison, const std::string& how) {
  const double direction = comparison.delta_ns() < 0 ? -1 : 1;
  for (const NetOperation& operation : comparison.change->net) {
    const double delta_ns = per_window(*comparison.change, operation.step_delta_ns());
    if (operation.kind == "idle" || direction * delta_ns <= 0 || is_shown_as_zero(delta_ns)) continue;
    const std::string of_layers = operation.is_of_some_layers ? " of " + layers_text(operation) : "";
    return fmt::format("{}{}{}{} {} ms", short_name(operation.name, kInSentence), match_text(operation), of_layers, how,
                       signed_ms(delta_ns));
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
    const Style style = names == Names::whole ? Style::code : Style::plain;
    table.rows.push_back({TableCell(shown[i], style), kind, operation.stream, counts_text(operation, change),
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
                          comparison.change ? largest_change(comparison) : ""});
  }
  return table;
}

std::string windows_text(const TraceChange& change) {
  return fmt::format("{} window{} of each side; {}", change.windows, change.windows == 1 ? "" : "s",
                     change.is_matched_by_tags
                         ? "operations are matched by their tags"
                         : "operations are matched by name, launch shape and order within the step");
}

}  // namespace underlap::compare
