// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "impl/plan/config/parallel_config.hpp"
#include "impl/plan/config/pipeline_config.hpp"
#include "profiler/trace/tag.hpp"

namespace underlap::plan {
struct Config;
}

namespace underlap::pp {

/// One microbatch's way through one chunk of a stage, forward or backward.
struct Pass {
  Direction direction = Direction::forward;
  std::int32_t chunk = 0;
  std::int64_t microbatch = 0;

  friend bool operator==(const Pass&, const Pass&) = default;
};

/// The order of one stage's passes, and the messages that it exchanges. p stages, v chunks on each, m microbatches.
/// Chunk c of stage s is part c * p + s of the model: after stage p-1 the model continues at stage 0, in the next
/// chunk.
///
/// Passes of a direction are counted from 0, over all chunks. Forward, a chunk takes microbatch_group_size_per_vp_stage
/// microbatches in a row, then the next chunk takes them; backward is the same with the chunks in reverse. The last
/// group takes what is left.
///
/// Source: Narayanan et al. 2021, section 2.2; Megatron Core's schedules, whose counts these are.
class Schedule {
 public:
  Schedule(const plan::Config& config, std::int32_t stage);

  std::int32_t stage() const { return stage_; }
  std::int32_t num_stages() const { return num_stages_; }
  std::int32_t num_chunks() const { return num_chunks_; }
  bool is_interleaved() const { return is_interleaved_; }
  bool is_first_stage() const { return stage_ == 0; }
  bool is_last_stage() const { return stage_ == num_stages_ - 1; }

  /// Passes in each direction: v * m.
  std::int64_t num_passes() const { return static_cast<std::int64_t>(order_.size()); }
  /// Forward passes before the first backward pass, except the one directly before it: p-1-s in plain 1F1B,
  /// 2 (p-1-s) + (v-1) * group interleaved or with overlap, at most all of them. 0 for a single stage.
  std::int64_t num_warmup() const;

  /// The k-th pass of a direction.
  Pass pass(Direction direction, std::int64_t k) const;

  /// Whether another stage's pass gives this one what it reads, and whether another one waits for what it writes.
  bool has_input(const Pass& pass) const;
  bool has_output(const Pass& pass) const;

  /// The message that arrives during the k-th pass of a direction, as the pass of that direction that will read it. It
  /// is the next pass, except on the stage where the direction begins (the first forward, the last backward). That
  /// stage gets what the stage at the other end made p-1 passes ago. nullopt: nothing arrives.
  std::optional<Pass> arrival(Direction direction, std::int64_t k) const;

  /// The chunk whose parameters every stage begins to gather before its k-th forward pass, where gathers are aligned:
  /// chunk c+1, when chunk c begins on the last stage to get there. Chunks 0 and 1 are gathered before all.
  std::optional<std::int32_t> gather_before_forward(std::int64_t k) const;
  /// The chunk whose gradients every stage begins to reduce after its k-th backward pass, where reductions are aligned.
  std::optional<std::int32_t> reduce_after_backward(std::int64_t k) const;

 private:
  struct Turn {
    std::int32_t chunk = 0;
    std::int64_t microbatch = 0;
  };

  std::int32_t stage_;
  std::int32_t num_stages_;
  std::int32_t num_chunks_;
  std::int64_t num_microbatches_;
  bool is_interleaved_;
  bool leaves_time_;  // for a gradient between its making and its use
  std::int64_t group_size_;
  std::vector<Turn> order_;  // of the forward passes
};

/// Whether hooks in the last backward pass of a chunk launch the reduction of its gradients as they complete: with one
/// stage, without align_grad_reduce, and on the first stage of plain 1F1B. Elsewhere the schedule launches it.
bool reduces_by_hooks(const plan::Config& config, std::int32_t stage);

/// Whether the schedule calls Stage::start_grad_reduce: where reductions overlap at all, and hooks do not launch them.
bool launches_reduces(const plan::Config& config, std::int32_t stage);

/// Whether the schedule calls Stage::start_param_gather.
bool launches_gathers(const plan::Config& config);

}  // namespace underlap::pp
