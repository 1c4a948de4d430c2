// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "impl/device/check/checks.hpp"
#include "impl/device/check/greedy_run.hpp"

namespace underlap::check {
namespace {

using Type = ProgramCommand::Type;

void append(std::vector<Finding>& all, std::vector<Finding> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// A deadlock that also occurs with more queues is not reported again for fewer.
std::vector<Finding> check_deadlocks(std::span<const ProgramIndex> ranks, const Matching& matching,
                                     const CheckOptions& options) {
  std::vector<Finding> all;
  std::set<std::string> known;
  for (const std::uint32_t num_queues : options.connections) {
    const GreedyRun run(ranks, matching, {.num_queues = num_queues, .queue_depth = options.launch_queue_depth});
    if (run.has_finished()) continue;
    for (Finding& finding : run.deadlocks()) {
      if (!known.insert(finding.what).second) continue;
      if (num_queues > 0)
        finding.what += fmt::format(" (on {} hardware {})", num_queues, num_queues == 1 ? "queue" : "queues");
      all.push_back(std::move(finding));
    }
  }
  return all;
}

void count(const Program& program, CheckReport& report) {
  ++report.num_ranks;
  for (const ProgramCommand& command : program.commands) {
    report.num_waits += command.type == Type::wait ? 1 : 0;
    const bool is_operation =
        command.type == Type::launch || command.type == Type::upload || command.type == Type::communicate;
    report.num_operations += is_operation ? 1 : 0;
  }
}

void say_what_peers_order(std::span<const ProgramIndex> ranks, const Matching& matching, Finding& finding) {
  const bool is_order = finding.kind == FindingKind::race || finding.kind == FindingKind::released_in_use;
  if (!is_order || finding.commands.size() != 2) return;
  if (is_ordered_by_peers(ranks, matching, finding.commands[0], finding.commands[1]))
    finding.what += " except the reply of a peer";
}

}  // namespace

CheckReport check_programs(std::span<const Program> programs, const CheckOptions& options) {
  CheckReport report;
  require_all_ranks(programs);
  std::vector<ProgramIndex> ranks;
  for (const Program& program : programs) {
    count(program, report);
    ranks.emplace_back(program);
  }
  const Matching matching = match_transfers(programs);
  report.num_exchanges = static_cast<std::int64_t>(matching.exchanges.size());
  std::vector<Finding> findings = check_matching(ranks, matching);
  append(findings, check_deadlocks(ranks, matching, options));
  append(findings, check_issue_order(ranks, matching));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    append(findings, check_memory(ranks, static_cast<std::int32_t>(rank)));
  append(findings, check_symmetry(ranks, matching));
  report.findings = fold(ranks, std::move(findings));
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.kind < b.kind; });
  for (Finding& finding : report.findings) say_what_peers_order(ranks, matching, finding);
  return report;
}

}  // namespace underlap::check
