// SPDX-License-Identifier: Apache-2.0
#include "impl/step/groups.hpp"

#include <algorithm>
#include <utility>

#include "impl/plan/layout/chunk_buckets.hpp"
#include "impl/plan/modes/mode_rules.hpp"

namespace underlap {
namespace {

// How far apart the ranks are that differ by one in the digit of `mode`.
std::int32_t stride_of(const plan::ParallelConfig& parallel, Mode mode) {
  std::int32_t stride = 1;
  for (const plan::ModeRules* each : plan::dense_modes()) {
    if (each->mode == mode) break;
    stride *= each->size(parallel);
  }
  return stride;
}

std::int32_t size_of(const plan::ParallelConfig& parallel, Mode mode) {
  const auto modes = plan::dense_modes();
  const auto found = std::ranges::find(modes, mode, &plan::ModeRules::mode);
  return found == modes.end() ? 1 : (*found)->size(parallel);
}

// The ranks that `place` becomes where each of `varied` runs over its size, the first of them slowest.
Group group_over(const plan::ParallelConfig& parallel, Place place, std::initializer_list<Mode> varied) {
  const std::int32_t mine = rank_of(parallel, place);
  for (const Mode mode : varied) place[mode] = 0;
  Group group{{rank_of(parallel, place)}, 0};
  for (const Mode mode : varied) {
    const std::int32_t stride = stride_of(parallel, mode), size = size_of(parallel, mode);
    const std::vector<std::int32_t> first = std::move(group.members);
    group.members = {};
    group.members.reserve(first.size() * static_cast<std::size_t>(size));
    for (const std::int32_t rank : first)
      for (std::int32_t i = 0; i < size; ++i) group.members.push_back(rank + i * stride);
  }
  const auto found = std::find(group.members.begin(), group.members.end(), mine);
  group.my_index = static_cast<std::int32_t>(found - group.members.begin());
  return group;
}

// Every `stride`-th of `size` members of `group`, this rank among them.
Group part_of(const Group& group, std::int32_t first, std::int32_t stride, std::int32_t size) {
  Group part{{}, (group.my_index - first) / stride};
  for (std::int32_t i = 0; i < size; ++i)
    part.members.push_back(group.members[static_cast<std::size_t>(first + i * stride)]);
  return part;
}

// Data- and context-parallel ranks that share one optimizer's state.
std::int32_t size_of_optimizer(const plan::Config& config) {
  return config.ddp.use_distributed_optimizer ? instance_size(config) : 1;
}

}  // namespace

Place place_of(const plan::ParallelConfig& parallel, std::int32_t rank) {
  Place place;
  for (const plan::ModeRules* mode : plan::dense_modes()) {
    const std::int32_t size = mode->size(parallel);
    place[mode->mode] = rank % size;
    rank /= size;
  }
  return place;
}

std::int32_t rank_of(const plan::ParallelConfig& parallel, const Place& place) {
  std::int32_t rank = 0, stride = 1;
  for (const plan::ModeRules* mode : plan::dense_modes()) {
    rank += place[mode->mode] * stride;
    stride *= mode->size(parallel);
  }
  return rank;
}

Group group_of(const plan::ParallelConfig& parallel, const Place& place, Mode mode) {
  return group_over(parallel, place, {mode});
}

GroupNumbers group_numbers(const plan::Config& config, const Place& place) {
  const std::int32_t contexts = size_of(config.parallel, Mode::cp), size = instance_size(config);
  const std::int32_t mine = place.data() * contexts + place.context();
  const auto rank_of_replica = [&](std::int32_t index) {
    Place other = place;
    other[Mode::dp] = index / contexts;
    other[Mode::cp] = index % contexts;
    return rank_of(config.parallel, other);
  };
  return {.instance = rank_of_replica(mine - mine % size),
          .across_instances = rank_of_replica(mine % size),
          .model = mine,
          .optimizer = mine / size_of_optimizer(config)};
}

ParallelGroups parallel_groups(const plan::Config& config, std::int32_t rank) {
  const plan::ParallelConfig& p = config.parallel;
  const Place place = place_of(p, rank);
  const Group replicas = group_over(p, place, {Mode::dp, Mode::cp});
  const std::int32_t of_instance = instance_size(config), in_instance = replicas.my_index % of_instance;
  return {.place = place,
          .instance = part_of(replicas, replicas.my_index - in_instance, 1, of_instance),
          .across_instances = part_of(replicas, in_instance, of_instance, replicas.size() / of_instance),
          .tensor = group_of(p, place, Mode::tp),
          .context = group_of(p, place, Mode::cp),
          .pipeline = group_of(p, place, Mode::pp),
          .model = group_over(p, place, {Mode::pp, Mode::tp})};
}

Group optimizer_group(const plan::Config& config, std::int32_t rank) {
  const auto optimizer_of = [&](std::int32_t r) {
    return group_numbers(config, place_of(config.parallel, r)).optimizer;
  };
  Group group;
  for (std::int32_t r = 0; r < config.parallel.world_size(); ++r) {
    if (r == rank) group.my_index = group.size();
    if (optimizer_of(r) == optimizer_of(rank)) group.members.push_back(r);
  }
  return group;
}

}  // namespace underlap
