// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/chunk_buckets.hpp"
#include "impl/plan/modes/mode_rules.hpp"

namespace underlap::plan {
namespace {

/// Round numbers that cut the parameters of the first chunk into two to a hundred buckets.
std::vector<std::string> bucket_sizes(const Config& layout) {
  constexpr std::int64_t kMostBuckets = 100;
  std::int64_t elements = 0;
  for (const Parameter& parameter :
       chunk_parameters(layout, 0, 0, {ranks_sharing(Shared::weights, layout.parallel), 0}).all)
    elements += parameter.elements();
  std::vector<std::string> sizes{""};
  for (std::int64_t decade = 1; decade < elements; decade *= 10)
    for (const std::int64_t size : {decade, 2 * decade, 5 * decade})
      if (size < elements && size * kMostBuckets >= elements) sizes.push_back(std::to_string(size));
  return sizes;
}

std::vector<SearchAxis> data_axes(const Config& layout, const IsOpen& /*is_open*/) {
  std::vector<SearchAxis> axes{{"comm_overlap.overlap_grad_reduce", {"", "false"}},
                               {"comm_overlap.overlap_param_gather", {"", "false"}},
                               {"comm_overlap.bucket_size", bucket_sizes(layout)},
                               {"ddp.average_in_collective", {"", "true"}},
                               {"ddp.pad_buckets_for_high_nccl_busbw", {"", "true"}}};
  if (layout.parallel.pipeline_model_parallel_size == 1) return axes;
  axes.push_back({"comm_overlap.align_param_gather", {"", "true", "false"}});
  axes.push_back({"ddp.align_grad_reduce", {"", "false"}});
  if (layout.parallel.virtual_pipeline_model_parallel_size > 1)
    axes.push_back({"comm_overlap.overlap_param_gather_with_optimizer_step", {"", "true"}});
  return axes;
}

}  // namespace

ModeRules data_rules() {
  return {.mode = Mode::dp,
          .word = "data",
          .sizes = {{.knob = "data_parallel_size", .letters = "DP", .field = &ParallelConfig::data_parallel_size}},
          .dense_digit = 2,
          .expert_digit = 2,
          .takes_the_rest = true,
          .is_used = [](const ParallelConfig& p) { return p.num_replicas() > 1; },
          .axes = data_axes,
          .switches = {{"overlap_grad_reduce",
                        [](const Config& c) { return c.ddp.overlap_grad_reduce; },
                        {{"comm_overlap.overlap_grad_reduce", "false"}}},
                       {"overlap_param_gather",
                        [](const Config& c) { return c.ddp.overlap_param_gather; },
                        {{"comm_overlap.overlap_param_gather", "false"}}}}};
}

}  // namespace underlap::plan
