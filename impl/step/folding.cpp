// SPDX-License-Identifier: Apache-2.0
#include "impl/step/folding.hpp"

#include <algorithm>
#include <utility>

#include "impl/step/groups.hpp"
#include "impl/step/techniques.hpp"

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

// What a collective over a group whose members exchange no messages depends on: its nodes, and its members in mine.
void append_spread(const Group& group, std::int32_t gpus_per_node, std::vector<std::int32_t>& distances) {
  const std::int32_t mine = group.members[static_cast<std::size_t>(group.my_index)] / gpus_per_node;
  std::int32_t num_nodes = 0, in_mine = 0, last = -1;
  for (const std::int32_t member : group.members) {  // rising
    const std::int32_t node = member / gpus_per_node;
    num_nodes += node != last ? 1 : 0;
    in_mine += node == mine ? 1 : 0;
    last = node;
  }
  distances.insert(distances.end(), {num_nodes, in_mine});
}

// Context-parallel ranks have programs of their own. A collective of all data-parallel ranks waits for the same ones
// only where instances are whole context-parallel groups, or parts that divide them.
void append_contexts(const plan::Config& config, const Group& group, std::vector<std::int32_t>& distances) {
  for (const std::int32_t member : group.members) distances.push_back(place_of(config.parallel, member).context);
}

// All that the times of a rank's transfers depend on, beside what it sends.
std::vector<std::int32_t> distances_of(const plan::Config& config, std::int32_t rank, std::int32_t gpus_per_node) {
  const ParallelGroups groups = parallel_groups(config, rank);
  std::vector<std::int32_t> distances;
  for (const Group* group : {&groups.tensor, &groups.context, &groups.pipeline})
    append_distances(*group, gpus_per_node, distances);
  for (const Group* group : {&groups.instance, &groups.across_instances, &groups.model})
    append_spread(*group, gpus_per_node, distances);
  if (groups.across_instances.size() > 1) {
    for (const Group* group : {&groups.instance, &groups.across_instances}) append_contexts(config, *group, distances);
    append_spread(optimizer_group(config, rank), gpus_per_node, distances);
  }
  return distances;
}

bool are_as_far_apart(const plan::Config& config, std::int32_t gpus_per_node, const Folding& folding) {
  std::vector<std::vector<std::int32_t>> of_simulated(static_cast<std::size_t>(config.parallel.world_size()));
  for (std::int32_t rank = 0; rank < config.parallel.world_size(); ++rank) {
    std::vector<std::int32_t> mine = distances_of(config, rank, gpus_per_node);
    const std::int32_t simulated = folding.simulated_for(config.parallel, rank);  // never above rank
    if (simulated == rank)
      of_simulated[static_cast<std::size_t>(rank)] = std::move(mine);
    else if (of_simulated[static_cast<std::size_t>(simulated)] != mine)
      return false;
  }
  return true;
}

// What sets tensor-parallel ranks apart: of two ranks each is to the other what the other is to it. Empty: nothing.
std::string tensor_asymmetry(const plan::Config& config) {
  if (config.parallel.tensor_model_parallel_size < 3) return "";
  for (const TechniqueInEffect& technique : techniques_in_effect(config))
    if (technique.mode == Mode::tp && !technique.facts->asymmetry.empty())
      return std::string(technique.facts->asymmetry) + ", so tensor-parallel ranks have other peers";
  return "";
}

Folding with_simulated(Folding folding, const plan::ParallelConfig& parallel) {
  for (std::int32_t rank = 0; rank < parallel.world_size(); ++rank)
    if (folding.simulated_for(parallel, rank) == rank) folding.simulated.push_back(rank);
  return folding;
}

}  // namespace

std::int32_t Folding::simulated_for(const plan::ParallelConfig& parallel, std::int32_t rank) const {
  Place place = place_of(parallel, rank);
  if (tensor) place.tensor = 0;
  if (data) place.data = 0;
  return rank_of(parallel, place);
}

Folding fold_ranks(const plan::Config& config, std::int32_t gpus_per_node) {
  const plan::ParallelConfig& parallel = config.parallel;
  if (!config.run.fold || config.run.numerics || config.run.jitter_pct > 0) return with_simulated({}, parallel);
  std::string reason = tensor_asymmetry(config);
  const bool tensor = parallel.tensor_model_parallel_size > 1 && reason.empty(), data = parallel.data_parallel_size > 1;
  for (Folding folding :
       {Folding{tensor, data, {}, {}}, Folding{false, data, {}, {}}, Folding{tensor, false, {}, {}}}) {
    folding.reason = reason;
    if (are_as_far_apart(config, gpus_per_node, folding)) return with_simulated(folding, parallel);
    reason = "ranks that do the same have other peers: farther away, behind the network or of other contexts";
  }
  return with_simulated({.simulated = {}, .reason = reason}, parallel);
}

}  // namespace underlap
