// SPDX-License-Identifier: Apache-2.0
#include "impl/pp/schedule.hpp"

#include <algorithm>
#include <cassert>

#include "impl/plan/config.hpp"

namespace underlap::pp {

Schedule::Schedule(const plan::Config& config, std::int32_t stage)
    : stage_(stage),
      num_stages_(config.parallel.pipeline_model_parallel_size),
      num_chunks_(config.parallel.virtual_pipeline_model_parallel_size),
      num_microbatches_(config.train.num_microbatches),
      is_interleaved_(config.parallel.is_interleaved()),
      leaves_time_(is_interleaved_ || config.pipeline.overlap_p2p_comm),
      group_size_(num_chunks_ > 1 ? config.pipeline.microbatch_group_size_per_vp_stage : num_microbatches_) {
  assert(stage >= 0 && stage < num_stages_);
  assert(num_chunks_ == 1 || (num_stages_ > 1 && group_size_ >= num_stages_ && group_size_ <= num_microbatches_));
  assert(num_chunks_ == 1 || num_microbatches_ % group_size_ == 0 || num_microbatches_ % group_size_ >= num_stages_);
  for (std::int64_t first = 0; first < num_microbatches_; first += group_size_)
    for (std::int32_t chunk = 0; chunk < num_chunks_; ++chunk)
      for (std::int64_t m = first; m < std::min(first + group_size_, num_microbatches_); ++m)
        order_.push_back({chunk, m});
}

std::int64_t Schedule::num_warmup() const {
  const std::int64_t behind = num_stages_ - 1 - stage_;
  const std::int64_t warmup = (leaves_time_ ? 2 : 1) * behind + (num_chunks_ - 1) * group_size_;
  return std::min(warmup, num_passes());
}

Pass Schedule::pass(Direction direction, std::int64_t k) const {
  const Turn& turn = order_.at(static_cast<std::size_t>(k));
  const bool is_forward = direction == Direction::forward;
  return {direction, is_forward ? turn.chunk : num_chunks_ - 1 - turn.chunk, turn.microbatch};
}

bool Schedule::has_input(const Pass& pass) const {
  if (pass.direction == Direction::forward) return !is_first_stage() || pass.chunk > 0;
  return !is_last_stage() || pass.chunk < num_chunks_ - 1;
}

bool Schedule::has_output(const Pass& pass) const {
  const Direction other = pass.direction == Direction::forward ? Direction::backward : Direction::forward;
  return has_input({other, pass.chunk, pass.microbatch});
}

std::optional<Pass> Schedule::arrival(Direction direction, std::int64_t k) const {
  const bool is_forward = direction == Direction::forward;
  const bool begins_here = is_forward ? is_first_stage() : is_last_stage();
  if (!begins_here) return k + 1 < num_passes() ? std::optional(pass(direction, k + 1)) : std::nullopt;
  const std::int64_t made = k - (num_stages_ - 1);
  if (made < 0) return std::nullopt;
  Pass next = pass(direction, made);
  if (next.chunk == (is_forward ? num_chunks_ - 1 : 0)) return std::nullopt;
  next.chunk += is_forward ? 1 : -1;
  return next;
}

std::optional<std::int32_t> Schedule::gather_before_forward(std::int64_t k) const {
  const std::int64_t aligned = k + stage_;
  if (aligned >= num_passes()) return std::nullopt;
  const Pass first = pass(Direction::forward, aligned);
  const std::int32_t chunk = first.chunk + 1;
  return first.microbatch == 0 && chunk > 1 && chunk < num_chunks_ ? std::optional(chunk) : std::nullopt;
}

std::optional<std::int32_t> Schedule::reduce_after_backward(std::int64_t k) const {
  const std::int64_t aligned = k - stage_;
  if (!is_interleaved_ || aligned < 0) return std::nullopt;
  const Pass last = pass(Direction::backward, aligned);
  return last.microbatch == num_microbatches_ - 1 ? std::optional(last.chunk) : std::nullopt;
}

bool reduces_by_hooks(const plan::Config& config, std::int32_t stage) {
  const plan::ParallelConfig& p = config.parallel;
  return p.pipeline_model_parallel_size == 1 || !config.ddp.align_grad_reduce || (!p.is_interleaved() && stage == 0);
}

bool launches_reduces(const plan::Config& config, std::int32_t stage) {
  return config.ddp.overlap_grad_reduce && !reduces_by_hooks(config, stage);
}

bool launches_gathers(const plan::Config& config) {
  return config.ddp.overlap_param_gather && config.ddp.align_param_gather &&
         config.parallel.virtual_pipeline_model_parallel_size > 1;
}

}  // namespace underlap::pp
