// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/check_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "platform/fields/json_schema.hpp"

// The fields of the JSON.
namespace underlap::check {

using fields::Is;

void visit_fields(Is<CommandPlace> auto& place, auto&& field) {
  field("rank", place.rank);
  field("command", place.index);
}

void visit_fields(Is<Finding> auto& finding, auto&& field) {
  field("kind", finding.kind);
  field("what", finding.what);
  field("remedy", finding.remedy);
  field("times", finding.count);
  field("commands", finding.commands);
}

}  // namespace underlap::check

namespace underlap::bench {

using fields::Each, fields::Is, fields::NullIf;

void visit_fields(Is<CellNumerics> auto& numerics, auto&& field) {
  field("label", numerics.label);
  field("reference", NullIf{numerics.reference, numerics.reference.empty()});
  field("max_loss_difference", numerics.max_loss_difference);
  field("steps", numerics.steps);
  field("shrunk", numerics.shrunk);
}

void visit_fields(Is<AxisNumerics> auto& axis, auto&& field) {
  field("axis", axis.axis);
  field("value", axis.value);
  field("label", axis.label);
  field("max_loss_difference", axis.max_loss_difference);
}

namespace {

constexpr std::string_view kCheckSchema = "underlap.check/1";

void add_cell(const CheckedCell& cell, const std::optional<CellNumerics>& numerics, auto&& field) {
  field("name", cell.name);
  field("num_ranks", cell.report.num_ranks);
  field("num_steps", cell.steps);
  field("num_operations", cell.report.num_operations);
  field("num_waits", cell.report.num_waits);
  field("num_exchanges", cell.report.num_exchanges);
  field("findings", cell.report.findings);
  field("numerics", numerics);
}

}  // namespace

void visit_fields(Is<CheckedMatrix> auto& matrix, auto&& field) {
  const auto add_checked = [&](const CheckedCell& cell, auto&& put) {
    const auto place = static_cast<std::size_t>(&cell - matrix.cells.data());
    add_cell(cell, matrix.numerics ? std::optional(matrix.numerics->cells[place]) : std::nullopt, put);
  };
  field("cells", Each{matrix.cells, add_checked});
  field("refused", Each{matrix.refused, [](const report::RefusedCell& cell, auto&& put) {
                          put("name", cell.name);
                          put("because", cell.because);
                        }});
  field("axes", matrix.numerics.value_or(NumericsCheck{}).axes);
}

namespace {

constexpr int kMostOfAKind = 20;

std::string finding_text(const check::Finding& finding) {
  const std::string more = finding.count > 1 ? fmt::format(" ({} times)", finding.count) : "";
  return fmt::format("  {}: {}{}\n    fix: {}\n", to_string(finding.kind), finding.what, more, finding.remedy);
}

std::string findings_text(const std::vector<check::Finding>& findings) {
  std::string text;
  std::array<int, check::kNumFindingKinds> num_of_kind{};
  for (const check::Finding& finding : findings)
    if (num_of_kind.at(static_cast<std::size_t>(finding.kind))++ < kMostOfAKind) text += finding_text(finding);
  for (std::size_t kind = 0; kind < num_of_kind.size(); ++kind)
    if (num_of_kind[kind] > kMostOfAKind)
      text += fmt::format("  {}: {} more\n", to_string(static_cast<check::FindingKind>(kind)),
                          num_of_kind[kind] - kMostOfAKind);
  return text;
}

std::string cell_text(const CheckedCell& cell) {
  const check::CheckReport& report = cell.report;
  const std::string verdict =
      report.findings.empty() ? "nothing found" : fmt::format("{} found", report.findings.size());
  return fmt::format("{}: {} ranks, {} steps, {} operations, {} waits, {} exchanges: {}\n", cell.name, report.num_ranks,
                     cell.steps, report.num_operations, report.num_waits, report.num_exchanges, verdict) +
         findings_text(report.findings);
}

// Every change that any cell went through, once.
std::string shrunk_text(const NumericsCheck& check) {
  std::vector<std::string> changes;
  for (const CellNumerics& cell : check.cells)
    for (const std::string& change : cell.shrunk)
      if (std::ranges::find(changes, change) == changes.end()) changes.push_back(change);
  return changes.empty() ? "" : fmt::format("  shrunk: {}\n", fmt::join(changes, ", "));
}

std::string cell_line(const std::string& name, const CellNumerics& numerics) {
  const std::string label = numerics_text(numerics.label, numerics.max_loss_difference);
  const bool is_compared = !numerics.reference.empty() && numerics.label != report::NumericsLabel::reference;
  return fmt::format(
      "  {}: {}{}\n", name, label,
      is_compared ? fmt::format(", compared with {} over {} steps", numerics.reference, numerics.steps) : "");
}

std::string numerics_section(const std::vector<CheckedCell>& cells, const NumericsCheck& check) {
  std::string text = "\nnumerics\n" + shrunk_text(check);
  for (std::size_t i = 0; i < cells.size(); ++i) text += cell_line(cells[i].name, check.cells[i]);
  for (const AxisNumerics& axis : check.axes)
    text +=
        fmt::format("  {}={} alone: {}\n", axis.axis, axis.value, numerics_text(axis.label, axis.max_loss_difference));
  for (const std::string& mismatch : check.mismatches) text += fmt::format("  mismatch: {}\n", mismatch);
  return text;
}

}  // namespace

bool is_valid(const CheckedMatrix& matrix) {
  const bool is_sound =
      std::ranges::all_of(matrix.cells, [](const CheckedCell& cell) { return cell.report.findings.empty(); });
  return is_sound && (!matrix.numerics || matrix.numerics->mismatches.empty());
}

std::string check_text(const CheckedMatrix& matrix) {
  std::string text;
  for (const CheckedCell& cell : matrix.cells) text += cell_text(cell);
  for (const report::RefusedCell& cell : matrix.refused)
    text += fmt::format("{}: not checked: {}\n", cell.name, fmt::join(cell.because, "; "));
  if (matrix.numerics) text += numerics_section(matrix.cells, *matrix.numerics);
  return text;
}

std::string check_json(const CheckedMatrix& matrix) { return fields::document_text(kCheckSchema, matrix, 2); }

std::string check_json_schema() { return fields::schema_text<CheckedMatrix>(kCheckSchema); }

}  // namespace underlap::bench
