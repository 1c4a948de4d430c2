// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "impl/device/device.hpp"
#include "impl/plan/config/parallel_config.hpp"

namespace underlap::plan {
struct Config;
}

namespace underlap {

/// A rank's digit of each mode that numbers ranks (plan::dense_modes). As in Megatron, tensor-parallel ranks are next
/// to each other, and pipeline stages farthest apart.
class Place {
 public:
  std::int32_t& operator[](Mode mode) { return digits_[static_cast<std::size_t>(mode)]; }
  std::int32_t operator[](Mode mode) const { return digits_[static_cast<std::size_t>(mode)]; }

  std::int32_t context() const { return (*this)[Mode::cp]; }
  std::int32_t data() const { return (*this)[Mode::dp]; }
  std::int32_t stage() const { return (*this)[Mode::pp]; }

 private:
  std::array<std::int32_t, kNumModes> digits_{};
};

Place place_of(const plan::ParallelConfig& parallel, std::int32_t rank);
std::int32_t rank_of(const plan::ParallelConfig& parallel, const Place& place);

/// The groups that one rank is in.
struct ParallelGroups {
  Place place;
  Group instance;          ///< that the shards of one optimizer are spread over: data- and context-parallel ranks that
                           ///< are neighbors, data index first; with one instance all that gradients are reduced over
  Group across_instances;  ///< data- and context-parallel ranks of the same shard, one of each instance
  Group tensor;            ///< that shares every layer
  Group context;           ///< that shares every sequence
  Group pipeline;          ///< stages
  Group model;             ///< tensor-parallel ranks of all stages, stage by stage: together one copy of the model
};

/// The ranks that differ from `place` in the digit of `mode` alone.
Group group_of(const plan::ParallelConfig& parallel, const Place& place, Mode mode);

/// Which group of a kind a rank is in: ranks with one number share the group. Each is that of parallel_groups(), and of
/// optimizer_group(), without a list of its members.
struct GroupNumbers {
  std::int32_t instance = 0;
  std::int32_t across_instances = 0;
  std::int32_t model = 0;
  std::int32_t optimizer = 0;
};
GroupNumbers group_numbers(const plan::Config& config, const Place& place);

/// The groups of global rank `rank`.
ParallelGroups parallel_groups(const plan::Config& config, std::int32_t rank);

/// The ranks that hold the parts of one optimizer's state, each part once, rising: all stages and tensor-parallel ranks
/// of an instance; without the distributed optimizer one copy of the model.
Group optimizer_group(const plan::Config& config, std::int32_t rank);

}  // namespace underlap
