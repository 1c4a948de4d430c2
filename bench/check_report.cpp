// SPDX-License-Identifier: Apache-2.0
#include "bench/check_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

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

}  // namespace

bool is_well(const std::vector<CheckedCell>& cells) {
  return std::all_of(cells.begin(), cells.end(), [](const CheckedCell& cell) { return cell.report.findings.empty(); });
}

std::string check_text(const std::vector<CheckedCell>& cells) {
  std::string text;
  for (const CheckedCell& cell : cells) {
    const check::CheckReport& report = cell.report;
    const std::string verdict =
        report.findings.empty() ? "nothing found" : fmt::format("{} found", report.findings.size());
    text +=
        fmt::format("{}: {} ranks, {} steps, {} operations, {} waits, {} exchanges: {}\n", cell.name, report.num_ranks,
                    cell.steps, report.num_operations, report.num_waits, report.num_exchanges, verdict);
    text += findings_text(report.findings);
  }
  return text;
}

std::string check_json(const std::vector<CheckedCell>& cells) {
  Tree json{{"schema", "underlap.check/1"}, {"cells", Tree::array()}};
  for (const CheckedCell& cell : cells) json["cells"].push_back(to_tree(cell));
  return json.dump(2) + "\n";
}

}  // namespace underlap::bench
