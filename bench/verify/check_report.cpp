// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/check_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "platform/json.hpp"

namespace underlap::bench {
namespace {

using Tree = nlohmann::ordered_json;

constexpr int kMostOfAKind = 20;

std::string finding_text(const check::Finding& finding) {
  const std::string more = finding.count > 1 ? fmt::format(" ({} times)", finding.count) : "";
  return fmt::format("  {}: {}{}\n    mend: {}\n", to_string(finding.kind), finding.what, more, finding.remedy);
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

Tree to_tree(const check::Finding& finding) {
  Tree commands = Tree::array();
  for (const check::CommandPlace& place : finding.commands)
    commands.push_back({{"rank", place.rank}, {"command", place.index}});
  return {{"kind", to_string(finding.kind)},
          {"what", finding.what},
          {"remedy", finding.remedy},
          {"times", finding.count},
          {"commands", std::move(commands)}};
}

Tree to_tree(const CheckedCell& cell) {
  Tree findings = Tree::array();
  for (const check::Finding& finding : cell.report.findings) findings.push_back(to_tree(finding));
  return {{"name", cell.name},
          {"num_ranks", cell.report.num_ranks},
          {"num_steps", cell.steps},
          {"num_operations", cell.report.num_operations},
          {"num_waits", cell.report.num_waits},
          {"num_exchanges", cell.report.num_exchanges},
          {"findings", std::move(findings)}};
}

Tree to_tree(const CellNumerics& numerics) {
  return {{"label", to_string(numerics.label)},
          {"reference", numerics.reference.empty() ? Tree(nullptr) : Tree(numerics.reference)},
          {"max_loss_difference", numerics.max_loss_difference},
          {"steps", numerics.steps},
          {"shrunk", numerics.shrunk}};
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
      if (std::find(changes.begin(), changes.end(), change) == changes.end()) changes.push_back(change);
  return changes.empty() ? "" : fmt::format("  shrunk: {}\n", fmt::join(changes, ", "));
}

std::string cell_line(const std::string& name, const CellNumerics& numerics) {
  const std::string label = numerics_text(numerics.label, numerics.max_loss_difference);
  const bool is_compared = !numerics.reference.empty() && numerics.label != report::NumericsLabel::reference;
  return fmt::format("  {}: {}{}\n", name, label,
                     is_compared ? fmt::format(", against {} over {} steps", numerics.reference, numerics.steps) : "");
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

bool is_well(const CheckedMatrix& matrix) {
  const bool is_sound = std::all_of(matrix.cells.begin(), matrix.cells.end(),
                                    [](const CheckedCell& cell) { return cell.report.findings.empty(); });
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

std::string check_json(const CheckedMatrix& matrix) {
  Tree json{{"schema", "underlap.check/1"}, {"cells", Tree::array()}};
  for (std::size_t i = 0; i < matrix.cells.size(); ++i) {
    Tree cell = to_tree(matrix.cells[i]);
    cell["numerics"] = matrix.numerics ? to_tree(matrix.numerics->cells[i]) : Tree(nullptr);
    json["cells"].push_back(std::move(cell));
  }
  json["refused"] = Tree::array();
  for (const report::RefusedCell& cell : matrix.refused)
    json["refused"].push_back({{"name", cell.name}, {"because", cell.because}});
  json["axes"] = Tree::array();
  if (matrix.numerics)
    for (const AxisNumerics& axis : matrix.numerics->axes)
      json["axes"].push_back({{"axis", axis.axis},
                              {"value", axis.value},
                              {"label", to_string(axis.label)},
                              {"max_loss_difference", axis.max_loss_difference}});
  return json_text(json, 2) + "\n";
}

}  // namespace underlap::bench
