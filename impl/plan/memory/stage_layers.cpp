// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "impl/plan/memory/memory_parts.hpp"
#include "impl/plan/precision.hpp"

namespace underlap::plan {
namespace {

/// All stages, with the layers that are written down for each range. A sum over ranges, where layers_of() had one for
/// each of them.
std::vector<Stage> uneven_stages(const Config& c) {
  const std::int32_t num_stages = c.parallel.num_stages();
  std::vector<Stage> stages;
  for (std::int32_t s = 0; s < num_stages; ++s) stages.push_back({s, num_stages, {}});
  std::int32_t first = 0, range = 0;
  for (const std::int32_t layers : c.parallel.layers_of_ranges) {
    stages[static_cast<std::size_t>(range % num_stages)].chunks.push_back({first, layers, false, false});
    first += layers;
    ++range;
  }
  return stages;
}

/// Sizes that do not divide are an error of their own, and their layers are rounded down here.
Stage even_stage(const Config& c, std::int32_t index) {
  const std::int64_t num_stages = c.parallel.num_stages();
  const std::int64_t chunks = num_stages > 1 ? c.parallel.chunks_of_stage() : 1;
  const std::int64_t layers = c.model.num_layers / (num_stages * chunks);
  Stage stage{index, static_cast<std::int32_t>(num_stages), {}};
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
    stage.chunks.push_back({static_cast<std::int32_t>((chunk * num_stages + index) * layers),
                            static_cast<std::int32_t>(layers), false, false});
  return stage;
}

}  // namespace

double Stage::num_layers() const {
  double sum = 0;
  for (const LayerRange& chunk : chunks) sum += chunk.num_layers;
  return sum;
}

double Stage::low_precision_layers(const Config& config) const {
  if (scaling_of(config) == Scaling::none) return 0;
  double sum = 0;
  for (const LayerRange& chunk : chunks)
    for (std::int32_t i = 0; i < chunk.num_layers; ++i) sum += is_in_low_precision(config, chunk.first_layer + i);
  return sum;
}

StageParameters stage_parameters(const Config& config, const RankShape& shape, const Stage& stage) {
  const bool is_tied = config.model.share_embeddings_and_output_weights && stage.num_stages == 1;
  StageParameters parameters;
  parameters.low_precision = stage.low_precision_layers(config) * shape.linear_parameters();
  parameters.layers = stage.num_layers() * shape.layer_parameters();
  if (stage.is_first()) parameters.tables += shape.table_parameters() + shape.positions;
  if (stage.is_last()) parameters.tables += (is_tied ? 0 : shape.table_parameters()) + shape.norm;
  return parameters;
}

std::vector<Stage> stages_to_compare(const Config& config) {
  if (!config.parallel.layers_of_ranges.empty()) return uneven_stages(config);
  const std::int32_t last = config.parallel.num_stages() - 1;
  std::vector<Stage> stages;
  for (const std::int32_t index : std::set<std::int32_t>{0, std::min(1, last), last})
    stages.push_back(even_stage(config, index));
  return stages;
}

}  // namespace underlap::plan
