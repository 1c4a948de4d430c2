// SPDX-License-Identifier: Apache-2.0
#include "impl/step/groups.hpp"

#include <algorithm>

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

ParallelGroups parallel_groups(const plan::Config& config, std::int32_t rank) {
  const plan::ParallelConfig& p = config.parallel;
  const Place place = place_of(p, rank);
  const std::pair tensor{&Place::tensor, p.tensor_model_parallel_size};
  const std::pair context{&Place::context, p.context_parallel_size};
  const std::pair data{&Place::data, p.data_parallel_size};
  const std::pair stage{&Place::stage, p.pipeline_model_parallel_size};
  return {.place = place,
          .data = group_over(p, place, {data, context}),
          .tensor = group_over(p, place, {tensor}),
          .context = group_over(p, place, {context}),
          .pipeline = group_over(p, place, {stage}),
          .model = group_over(p, place, {stage, tensor})};
}

}  // namespace underlap
