// SPDX-License-Identifier: Apache-2.0
#include "impl/step/folding.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "impl/plan/config.hpp"
#include "impl/plan/modes/mode_rules.hpp"
#include "impl/step/groups.hpp"

namespace underlap {
namespace {

// Where the members of a group sit as seen from one of them: by distance round the group the node, numbered in the
// order in which it is met.
void append_distances(const Group& group, std::int32_t gpus_per_node, std::vector<std::int32_t>& distances) {
  std::vector<std::int32_t> nodes;
  for (std::int32_t i = 0; i < group.size(); ++i) {
    const auto member = static_cast<std::size_t>((group.my_index + i) % group.size());
    const std::int32_t node = group.members[member] / gpus_per_node;
    const auto known = std::find(nodes.rbegin(), nodes.rend(), node);  // most often the last
    distances.push_back(static_cast<std::int32_t>(nodes.rend() - known) - 1);
    if (known != nodes.rend()) continue;
    distances.back() = static_cast<std::int32_t>(nodes.size());
    nodes.push_back(node);
  }
}

// By rank what a collective over one kind of group depends on, where members exchange no messages: its nodes, its
// members in this rank's, and their contexts. Context-parallel ranks have programs of their own: a collective of all
// data-parallel ranks waits for the same ones only where instances are whole context-parallel groups, or parts that
// divide them.
//
// Processes each group once, not once for each of its members, which on a large machine are all ranks.
class Spreads {
 public:
  Spreads(const plan::Config& config, std::int32_t gpus_per_node, std::int32_t GroupNumbers::*kind) {
    std::map<std::int32_t, std::vector<std::int32_t>> groups;
    for (std::int32_t rank = 0; rank < config.parallel.world_size(); ++rank)
      groups[group_numbers(config, place_of(config.parallel, rank)).*kind].push_back(rank);
    of_rank_.resize(static_cast<std::size_t>(config.parallel.world_size()));
    for (const auto& [number, members] : groups) add(config.parallel, gpus_per_node, members);
  }

  void append_to(std::vector<std::int32_t>& distances, std::int32_t rank, bool contexts_are_alike) const {
    const Spread& spread = of_rank_[static_cast<std::size_t>(rank)];
    distances.insert(distances.end(), {spread.num_nodes, spread.in_mine, contexts_are_alike ? 0 : spread.contexts});
  }

 private:
  struct Spread {
    std::int32_t num_nodes = 0;
    std::int32_t in_mine = 0;
    std::int32_t contexts = 0;  // number of the list
  };

  void add(const plan::ParallelConfig& parallel, std::int32_t gpus_per_node, const std::vector<std::int32_t>& members) {
    std::map<std::int32_t, std::int32_t> in_node;
    std::vector<std::int32_t> contexts;
    for (const std::int32_t member : members) {
      ++in_node[member / gpus_per_node];
      contexts.push_back(place_of(parallel, member).context());
    }
    const auto list = lists_.try_emplace(std::move(contexts), static_cast<std::int32_t>(lists_.size())).first->second;
    const auto num_nodes = static_cast<std::int32_t>(in_node.size());
    for (const std::int32_t member : members)
      of_rank_[static_cast<std::size_t>(member)] = {num_nodes, in_node[member / gpus_per_node], list};
  }

  std::vector<Spread> of_rank_;
  std::map<std::vector<std::int32_t>, std::int32_t> lists_;  // of contexts, numbered
};

/// Everything that the times of a rank's transfers depend on, except what it sends.
class Distances {
 public:
  Distances(const plan::Config& config, std::int32_t gpus_per_node) : config_(config), gpus_per_node_(gpus_per_node) {
    for (const auto kind : {&GroupNumbers::instance, &GroupNumbers::across_instances, &GroupNumbers::model})
      spreads_.emplace_back(config, gpus_per_node, kind);
    if (parallel_groups(config, 0).across_instances.size() > 1)
      spreads_.emplace_back(config, gpus_per_node, &GroupNumbers::optimizer);
  }

  std::vector<std::int32_t> of(std::int32_t rank, bool contexts_are_alike) const {
    std::vector<std::int32_t> distances;
    const Place place = place_of(config_.parallel, rank);
    for (const plan::ModeRules* mode : plan::dense_modes())
      if (!mode->takes_the_rest)
        append_distances(group_of(config_.parallel, place, mode->mode), gpus_per_node_, distances);
    for (const Spreads& spreads : spreads_) spreads.append_to(distances, rank, contexts_are_alike);
    return distances;
  }

 private:
  const plan::Config& config_;
  std::int32_t gpus_per_node_;
  std::vector<Spreads> spreads_;  // by kind of group
};

bool are_as_far_apart(const plan::Config& config, const Distances& distances, const Folding& folding) {
  std::vector<std::vector<std::int32_t>> of_simulated(static_cast<std::size_t>(config.parallel.world_size()));
  for (std::int32_t rank = 0; rank < config.parallel.world_size(); ++rank) {
    std::vector<std::int32_t> mine = distances.of(rank, folding.context);
    const std::int32_t simulated = folding.simulated_for(config.parallel, rank);  // never above rank
    if (simulated == rank)
      of_simulated[static_cast<std::size_t>(rank)] = std::move(mine);
    else if (of_simulated[static_cast<std::size_t>(simulated)] != mine)
      return false;
  }
  return true;
}

Folding with_simulated(Folding folding, const plan::ParallelConfig& parallel) {
  for (std::int32_t rank = 0; rank < parallel.world_size(); ++rank)
    if (folding.simulated_for(parallel, rank) == rank) folding.simulated.push_back(rank);
  return folding;
}

bool may_fold(const plan::RunConfig& run) { return run.fold && !run.numerics && run.jitter_pct == 0; }

}  // namespace

std::int32_t Folding::simulated_for(const plan::ParallelConfig& parallel, std::int32_t rank) const {
  Place place = place_of(parallel, rank);
  for (const auto& [is_folded, mode] : {std::pair{tensor, Mode::tp}, {data, Mode::dp}, {context, Mode::cp}})
    if (is_folded) place[mode] = 0;
  return rank_of(parallel, place);
}

Folding fold_ranks(const plan::Config& config, std::int32_t gpus_per_node) {
  const plan::ParallelConfig& parallel = config.parallel;
  if (!may_fold(config.run)) return with_simulated({}, parallel);
  const bool tensor = plan::ranks_sharing(plan::Shared::weights, parallel) > 1, data = parallel.data_parallel_size > 1;
  std::string reason;
  const Distances distances(config, gpus_per_node);
  for (Folding folding : {Folding{tensor, data}, Folding{false, data}, Folding{tensor, false}}) {
    folding.reason = reason;
    if (are_as_far_apart(config, distances, folding)) return with_simulated(folding, parallel);
    reason = "ranks that do the same have different peers: farther away, across the network or of other contexts";
  }
  return with_simulated({.simulated = {}, .reason = reason}, parallel);
}

Folding fold_nearly_alike(const plan::Config& config, std::int32_t gpus_per_node) {
  Folding folding = fold_ranks(config, gpus_per_node);
  if (plan::ranks_sharing(plan::Shared::tokens, config.parallel) == 1 || !may_fold(config.run)) return folding;
  Folding more{folding.tensor, folding.data, true, {}, folding.reason};
  if (!are_as_far_apart(config, Distances(config, gpus_per_node), more)) return folding;
  return with_simulated(more, config.parallel);
}

}  // namespace underlap
