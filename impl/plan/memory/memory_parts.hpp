// SPDX-License-Identifier: Apache-2.0
// The parts of a rank's memory, in bytes. Formulas: impl/plan/memory/memory.cpp.
#pragma once

#include "impl/plan/layout/layer_range.hpp"
#include "impl/plan/memory/rank_shape.hpp"
#include "impl/plan/pipeline_schedules.hpp"

namespace underlap::plan {

/// A pipeline stage and the layers of its chunks.
struct Stage {
  std::int32_t index = 0, num_stages = 1;
  std::vector<LayerRange> chunks = {};

  bool is_first() const { return index == 0; }
  bool is_last() const { return index == num_stages - 1; }
  double num_layers() const;
  /// Of them those whose products are in fewer than 16 bits.
  double low_precision_layers(const Config& config) const;
};

/// Parameters of one tensor-parallel rank, by location.
struct StageParameters {
  double low_precision = 0;  ///< weights of products in fewer than 16 bits
  double layers = 0;         ///< of all layers, these included
  double tables = 0;         ///< embedding, and head with its norm
  double total() const { return layers + tables; }
};
StageParameters stage_parameters(const Config& config, const RankShape& shape, const Stage& stage);

/// The stages that may have the largest need: all of them if layers are split unevenly. Otherwise the first, the second
/// and the last, because the others hold as much as the second, for fewer microbatches.
std::vector<Stage> stages_to_compare(const Config& config);

/// What a stage keeps from step to step, and what of it is whole at a time.
struct StateBytes {
  double parameters = 0, gradients = 0, optimizer = 0;
};
StateBytes state_bytes(const Config& config, const RankShape& shape, const Stage& stage);

/// The most microbatches of the stage's chunks, all together, that are between forward and backward at once.
InFlight chunks_in_flight(const Config& config, const Stage& stage);

/// What a stage keeps between forward and backward passes, the logits of the last included.
double activation_bytes(const Config& config, const RankShape& shape, const Stage& stage);

// Memory that a rank allocates once, for any batch, and memory of libraries.
double userbuffers_bytes(const Config& config, const RankShape& shape);
double exchange_bytes(const Config& config, const RankShape& shape, const Stage& stage);
double workspace_bytes(const Config& config, const RankShape& shape);
double communicator_bytes(const Config& config);
double context_bytes();

}  // namespace underlap::plan
