// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "impl/plan/config.hpp"
#include "impl/plan/modes/mode_rules.hpp"

namespace underlap::plan {
namespace {

bool stages_are_worth_trying(const ModelConfig& model, const ParallelConfig& /*parallel*/, std::int64_t size,
                             const SearchedMachine& /*machine*/) {
  return model.num_layers % size == 0;
}

bool chunks_are_worth_trying(const ModelConfig& model, const ParallelConfig& parallel, std::int64_t size,
                             const SearchedMachine& /*machine*/) {
  const std::int64_t stages = parallel.pipeline_model_parallel_size;
  return size == 1 || (stages > 1 && model.num_layers / stages % size == 0);
}

std::string size_details(const ParallelConfig& p) {
  if (p.virtual_pipeline_model_parallel_size > 1)
    return fmt::format(" of {} chunks", p.virtual_pipeline_model_parallel_size);
  return p.is_interleaved() ? " of one chunk, interleaved" : "";
}

std::vector<SearchAxis> pipeline_axes(const Config& layout, const IsOpen& /*is_open*/) {
  const std::int64_t stages = layout.parallel.pipeline_model_parallel_size;
  std::vector<SearchAxis> axes{{"comm_overlap.overlap_p2p_comm", {"", "false"}},
                               {"comm_overlap.batch_p2p_comm", {"", "true", "false"}}};
  if (layout.parallel.virtual_pipeline_model_parallel_size == 1) return axes;
  axes.push_back({"model.overlap_p2p_comm_warmup_flush", {"", "true"}});
  axes.push_back(
      {"model.microbatch_group_size_per_vp_stage", {"", std::to_string(stages + 1), std::to_string(2 * stages)}});
  return axes;
}

}  // namespace

ModeRules pipeline_rules() {
  return {.mode = Mode::pp,
          .word = "pipeline",
          .sizes = {{.knob = "model.pipeline_model_parallel_size",
                     .letters = "PP",
                     .field = &ParallelConfig::pipeline_model_parallel_size,
                     .is_worth_trying = stages_are_worth_trying},
                    {.knob = "model.virtual_pipeline_model_parallel_size",
                     .letters = "VP",
                     .field = &ParallelConfig::virtual_pipeline_model_parallel_size,
                     .is_worth_trying = chunks_are_worth_trying,
                     .is_unset_at_1 = true}},
          .dense_digit = 9,
          .expert_digit = 9,
          .has_pair_groups = true,
          .size_details = size_details,
          .axes = pipeline_axes,
          .switches = {{"overlap_p2p_comm",
                        [](const Config& c) { return c.pipeline.overlap_p2p_comm; },
                        {{"comm_overlap.overlap_p2p_comm", "false"}, {"model.overlap_p2p_comm_warmup_flush", ""}}}}};
}

}  // namespace underlap::plan
