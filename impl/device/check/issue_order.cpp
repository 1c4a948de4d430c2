// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "impl/device/check/precedence.hpp"

namespace underlap::check {
namespace {

// Exchanges in one set: those of one call, and so of all calls that they meet in.
class Sets {
 public:
  explicit Sets(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0U); }

  std::uint32_t root(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[root(a)] = root(b); }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace

std::vector<Finding> check_issue_order(std::span<const ProgramIndex> ranks, const Matching& matching) {
  Sets sets(matching.exchanges.size());
  for (const auto& commands : matching.of_command)
    for (const auto& exchanges : commands)
      for (const std::uint32_t e : exchanges) sets.join(e, exchanges.front());
  std::vector<std::vector<std::uint32_t>> nodes(ranks.size());
  std::vector<std::vector<std::uint32_t>> calls(ranks.size());  // the command of each node
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (std::uint32_t c = 0; c < ranks[rank].num_commands(); ++c) {
      if (matching.of_command[rank][c].empty()) continue;
      nodes[rank].push_back(sets.root(matching.of_command[rank][c].front()));
      calls[rank].push_back(c);
    }
  Finding finding{.kind = FindingKind::issue_order, .commands = {}, .what = {}, .remedy = {}};
  std::vector<std::string> clauses;
  for (const Precedence& p : find_contradiction(nodes)) {
    const auto rank = static_cast<std::int32_t>(p.sequence);
    for (const std::size_t i : {p.from, p.to}) finding.commands.push_back({rank, calls[p.sequence][i]});
    const auto end = finding.commands.end();
    clauses.push_back(fmt::format("{} before {}", text_with_rank(ranks, *(end - 2)), text_of(ranks, *(end - 1))));
  }
  if (clauses.empty()) return {};
  finding.what = fmt::format("{}", fmt::join(clauses, ", but "));
  finding.remedy = "enqueue these transfers in the same order on all ranks";
  return {finding};
}

}  // namespace underlap::check
