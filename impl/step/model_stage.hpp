// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "impl/model/chunk.hpp"
#include "impl/model/norm_gradients.hpp"
#include "impl/model/optimizer.hpp"
#include "impl/model/text_data.hpp"
#include "impl/pp/stage.hpp"
#include "impl/step/groups.hpp"

namespace underlap {

/// A pipeline stage of the model on one rank: its chunks, each with its weights, its data-parallel techniques and its
/// own buckets.
class ModelStage final : public pp::Stage {
 public:
  /// What the stage is built on; all of it outlives the stage.
  struct Rank {
    Device* device = nullptr;
    const plan::Config* config = nullptr;
    const ParallelGroups* groups = nullptr;
    const model::TextData* data = nullptr;
    Stream compute;
    tp::Communicators* tensor = nullptr;
    cp::Communicators* context = nullptr;
    Communicator reduce;
    Communicator gather;
    std::optional<Communicator> across_instances;  ///< where there are several
  };

  /// Allocates everything on the rank's device.
  explicit ModelStage(const Rank& rank);
  ~ModelStage() override;

  std::int32_t num_chunks() const { return static_cast<std::int32_t>(chunks_.size()); }
  /// Whether the loss is found here.
  bool has_head() const;
  const dp::Buffers& buffers(std::int32_t chunk) const;
  model::OptimizedChunk optimized(std::int32_t chunk) const;

  /// Enqueues what is initialized once before training, except the weights, which the optimizer fills.
  void initialize(const model::Enqueue& enqueue) const {
    if (shared_.rope) shared_.rope->initialize(enqueue);
  }
  /// Begins a step: gathers what is gathered before anything else, and zeroes the gradients. `loss` [1, 1] f32 gets
  /// what the step's microbatches add to it.
  void begin_step(std::int32_t step, const View& loss);
  /// Makes the compute stream wait for all reduced gradients, and sums those that several ranks hold.
  void finish_gradients();
  /// Starts the first chunk's gather for the step after this one: its shards were updated.
  void gather_first_chunk_early();

  void forward(std::int32_t chunk, std::int64_t microbatch, const View& input, const View& output) override;
  void backward(std::int32_t chunk, std::int64_t microbatch, const View& d_output, const View& d_input) override;
  void dgrad(std::int32_t chunk, std::int64_t microbatch, const View& d_output, const View& d_input) override;
  void wgrad(std::int32_t chunk, std::int64_t microbatch) override;
  void start_param_gather(std::int32_t chunk) override;
  void start_grad_reduce(std::int32_t chunk) override;
  void finish_deferred_wgrads() override;

 private:
  struct ChunkOfStage;

  model::Enqueue enqueue(Direction direction, std::int64_t microbatch) const;
  model::Weights weights(ChunkOfStage& chunk, std::int64_t microbatch) const;
  model::Slot slot(const ChunkOfStage& chunk, std::int64_t microbatch) const;
  std::vector<std::int32_t> tokens_of(const ChunkOfStage& chunk, std::int64_t microbatch) const;
  void declare_tied_embedding();
  void all_reduce_tied_embedding() const;

  Rank rank_;
  model::SharedLayers shared_;
  std::vector<std::unique_ptr<ChunkOfStage>> chunks_;
  std::optional<model::NormGradients> norm_gradients_;  // of ranks that hold other tokens
  std::optional<Communicator> tied_embedding_;          // of the first and the last stage, on these
  View tied_gradient_;
  std::int32_t step_ = -1;
  View loss_;
  std::int32_t gathered_early_for_ = -1;  // step
};

}  // namespace underlap
