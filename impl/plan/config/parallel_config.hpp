// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/trace/tag.hpp"

namespace underlap::plan {

/// The size of a mode that has no field of its own.
struct FurtherSize {
  Mode mode = Mode::none;
  std::int32_t size = 1;
  bool numbers_ranks = false;  ///< it has a digit in every rank's number
};

struct ParallelConfig {
  std::int32_t tensor_model_parallel_size = 1;
  std::int32_t pipeline_model_parallel_size = 1;
  std::int32_t virtual_pipeline_model_parallel_size = 1;
  bool interleaves_one_chunk = false;  ///< a virtual size of 1 was requested, which differs from none
  std::int32_t context_parallel_size = 1;
  std::int32_t data_parallel_size = 1;
  bool sequence_parallel = false;
  /// Layers of each range of the model, the first of every stage before the second of any; empty: as many in each.
  std::vector<std::int32_t> layers_of_ranges = {};
  std::vector<FurtherSize> further = {};

  /// Whether the pipeline's order is that of virtual stages, even if each stage has one chunk.
  bool is_interleaved() const { return virtual_pipeline_model_parallel_size > 1 || interleaves_one_chunk; }
  /// Ranks of one pipeline stage; their numbers follow each other.
  std::int32_t stage_size() const {
    std::int32_t ranks = tensor_model_parallel_size * context_parallel_size * data_parallel_size;
    for (const FurtherSize& each : further) ranks *= each.numbers_ranks ? each.size : 1;
    return ranks;
  }
  /// Ranks that hold the same parameters, and reduce their gradients.
  std::int64_t num_replicas() const { return std::int64_t{data_parallel_size} * context_parallel_size; }
  std::int32_t num_stages() const { return pipeline_model_parallel_size; }
  std::int32_t chunks_of_stage() const { return virtual_pipeline_model_parallel_size; }
  /// Layers of each stage; empty: as many in each.
  std::vector<std::int32_t> layers_of_stages() const {
    std::vector<std::int32_t> layers(layers_of_ranges.empty() ? 0 : static_cast<std::size_t>(num_stages()));
    for (std::size_t range = 0; range < layers_of_ranges.size(); ++range)
      layers[range % layers.size()] += layers_of_ranges[range];
    return layers;
  }
  /// Stages of one chunk each with the same layers, in the plain order.
  void set_plain_stages() {
    layers_of_ranges = layers_of_stages();
    virtual_pipeline_model_parallel_size = 1;
    interleaves_one_chunk = false;
  }
  /// Parts that the pipeline cuts the layers into.
  std::int64_t num_chunks() const {
    return std::int64_t{pipeline_model_parallel_size} * virtual_pipeline_model_parallel_size;
  }
  std::int32_t world_size() const { return stage_size() * pipeline_model_parallel_size; }
};

}  // namespace underlap::plan
