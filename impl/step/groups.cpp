// SPDX-License-Identifier: Apache-2.0
#include "impl/step/groups.hpp"

#include <algorithm>
#include <utility>

#include "impl/plan/layout/chunk_buckets.hpp"

namespace underlap {
namespace {

// The ranks that `place` becomes where each of `varied` runs over its size, the first of them slowest.
Group group_over(const plan::ParallelConfig& parallel, Place place,
                 std::initializer_list<std::pair<std::int32_t Place::*, std::int32_t>> varied) {
  const std::int32_t mine = rank_of(parallel, place);
  for (const auto& [coordinate, size] : varied) place.*coordinate = 0;
  Group group{{rank_of(parallel, place)}, 0};
  for (const auto& [coordinate, size] : varied) {
    Place next;
    next.*coordinate = 1;
    const std::int32_t stride = rank_of(parallel, next);
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

std::int32_t index_in_data_group(const plan::ParallelConfig& parallel, const Place& place) {
  return place.data * parallel.context_parallel_size + place.context;
}

// Data- and context-parallel ranks that share one optimizer's state.
std::int32_t size_of_optimizer(const plan::Config& config) {
  return config.ddp.use_distributed_optimizer ? instance_size(config) : 1;
}

}  // namespace

Place place_of(const plan::ParallelConfig& p, std::int32_t rank) {
  const auto digit = [&rank](std::int32_t base) {
    const std::int32_t value = rank % base;
    rank /= base;
    return value;
  };
  Place place;
  place.tensor = digit(p.tensor_model_parallel_size);
  place.context = digit(p.context_parallel_size);
  place.data = digit(p.data_parallel_size);
  place.stage = rank;
  return place;
}

std::int32_t rank_of(const plan::ParallelConfig& p, const Place& place) {
  return ((place.stage * p.data_parallel_size + place.data) * p.context_parallel_size + place.context) *
             p.tensor_model_parallel_size +
         place.tensor;
}

Group tensor_group(const plan::ParallelConfig& p, const Place& place) {
  return group_over(p, place, {{&Place::tensor, p.tensor_model_parallel_size}});
}

Group context_group(const plan::ParallelConfig& p, const Place& place) {
  return group_over(p, place, {{&Place::context, p.context_parallel_size}});
}

Group pipeline_group(const plan::ParallelConfig& p, const Place& place) {
  return group_over(p, place, {{&Place::stage, p.pipeline_model_parallel_size}});
}

GroupNumbers group_numbers(const plan::Config& config, const Place& place) {
  const plan::ParallelConfig& p = config.parallel;
  const std::int32_t replicas = p.data_parallel_size * p.context_parallel_size;
  const std::int32_t size = instance_size(config), mine = index_in_data_group(p, place);
  const std::int32_t shard = place.stage * p.tensor_model_parallel_size + place.tensor;  // of the model
  return {.instance = shard * (replicas / size) + mine / size,
          .across_instances = shard * size + mine % size,
          .model = mine,
          .optimizer = mine / size_of_optimizer(config)};
}

ParallelGroups parallel_groups(const plan::Config& config, std::int32_t rank) {
  const plan::ParallelConfig& p = config.parallel;
  const Place place = place_of(p, rank);
  const Group replicas =
      group_over(p, place, {{&Place::data, p.data_parallel_size}, {&Place::context, p.context_parallel_size}});
  const std::int32_t of_instance = instance_size(config), in_instance = replicas.my_index % of_instance;
  return {
      .place = place,
      .instance = part_of(replicas, replicas.my_index - in_instance, 1, of_instance),
      .across_instances = part_of(replicas, in_instance, of_instance, replicas.size() / of_instance),
      .tensor = tensor_group(p, place),
      .context = context_group(p, place),
      .pipeline = pipeline_group(p, place),
      .model = group_over(
          p, place, {{&Place::stage, p.pipeline_model_parallel_size}, {&Place::tensor, p.tensor_model_parallel_size}})};
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
