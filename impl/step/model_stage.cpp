// SPDX-License-Identifier: Apache-2.0
#include "impl/step/model_stage.hpp"

#include <algorithm>

#include "impl/cp/sequence_part.hpp"
#include "impl/plan/layout/chunk_buckets.hpp"
#include "impl/pp/technique.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace underlap {
namespace {

// As Megatron Core has it, a buffer is known to the communicator that gathers or scatters it within an instance of the
// optimizer, and to no other.
Registration user_buffer(const plan::Config& config, const Communicator& communicator) {
  if (!config.ddp.nccl_ub) return {};
  return {.communicators = {communicator}, .symmetric = !config.ddp.disable_symmetric_registration};
}

}  // namespace

struct ModelStage::ChunkOfStage {
  plan::LayerRange range;
  plan::ModelParameters parameters;
  dp::Buffers buffers;
  std::unique_ptr<dp::GradReduce> grad_reduce;
  std::unique_ptr<dp::ParamGather> param_gather;
  std::unique_ptr<dp::Fp8Parameters> fp8_parameters;
  std::unique_ptr<model::Chunk> model;
  model::Chunk::NumSlots num_slots;

  void make_buffers(const Rank& rank, std::int32_t chunk);
  void make_techniques(const Rank& rank);
};

void ModelStage::ChunkOfStage::make_buffers(const Rank& rank, std::int32_t chunk) {
  const plan::Config& config = *rank.config;
  Device& device = *rank.device;
  buffers.layout = bucket_layout(config, rank.groups->place.stage(), chunk);
  buffers.parameters = parameters.all;
  buffers.group = rank.groups->instance;
  buffers.is_sharded = config.ddp.use_distributed_optimizer;
  // Without the distributed optimizer no parameters are gathered.
  const Registration gathered = buffers.is_sharded ? user_buffer(config, rank.gather) : Registration{};
  buffers.params = device.allocate_registered("parameters", DataType::bf16,
                                              buffers.layout.elements - buffers.layout.fp8_elements, gathered);
  dp::allocate_fp8(device, buffers, gathered);
  buffers.grads =
      device.allocate_registered("main_gradients", config.ddp.grad_reduce_in_fp32 ? DataType::f32 : DataType::bf16,
                                 buffers.layout.elements, user_buffer(config, rank.reduce));
}

void ModelStage::ChunkOfStage::make_techniques(const Rank& rank) {
  const dp::Context context{.device = rank.device,
                            .buffers = &buffers,
                            .compute = rank.compute,
                            .reduce = rank.reduce,
                            .gather = rank.gather,
                            .across_instances = rank.across_instances,
                            .config = rank.config,
                            .schedule_starts = pp::launches_reduces(*rank.config, rank.groups->place.stage())};
  grad_reduce = dp::make_grad_reduce(context);
  param_gather = dp::make_param_gather(context);
  fp8_parameters = std::make_unique<dp::Fp8Parameters>(context);
}

ModelStage::ModelStage(const Rank& rank) : rank_(rank), shared_(*rank.tensor, *rank.context, *rank.config) {
  const plan::Config& config = *rank.config;
  const std::int32_t stage = rank.groups->place.stage();
  const auto script = pp::script_of(config, stage);
  for (std::int32_t c = 0; c < config.parallel.chunks_of_stage(); ++c) {
    ChunkOfStage& chunk = *chunks_.emplace_back(std::make_unique<ChunkOfStage>());
    chunk.range = plan::layers_of(config, stage, c);
    chunk.parameters = chunk_parameters(config, stage, c, shared_.shape.tensor);
    const auto [activations, gradients] = pp::count_in_flight(*script, c);
    chunk.num_slots = {static_cast<std::int32_t>(activations), static_cast<std::int32_t>(gradients)};
    chunk.make_buffers(rank, c);
    chunk.make_techniques(rank);
    chunk.model =
        std::make_unique<model::Chunk>(*rank.tensor, shared_, config, chunk.range, chunk.parameters, chunk.num_slots);
  }
  std::vector<const dp::Buffers*> buffers;
  for (const auto& chunk : chunks_) buffers.push_back(&chunk->buffers);
  if (shared_.shape.cuts_tokens()) norm_gradients_.emplace(*rank.tensor, buffers);
  declare_tied_embedding();
}

ModelStage::~ModelStage() = default;

bool ModelStage::has_head() const { return chunks_.back()->range.has_head; }

const dp::Buffers& ModelStage::buffers(std::int32_t chunk) const {
  return chunks_[static_cast<std::size_t>(chunk)]->buffers;
}

model::OptimizedChunk ModelStage::optimized(std::int32_t chunk) const {
  const ChunkOfStage& of = *chunks_[static_cast<std::size_t>(chunk)];
  return {.buffers = &of.buffers, .fp8 = of.fp8_parameters.get(), .parameters = &of.parameters};
}

model::Enqueue ModelStage::enqueue(Direction direction, std::int64_t microbatch) const {
  return {.device = rank_.device,
          .stream = rank_.compute,
          .tag = {.kind = Kind::compute,
                  .direction = direction,
                  .microbatch = static_cast<std::int32_t>(microbatch),
                  .step = step_}};
}

void ModelStage::begin_step(std::int32_t step, const View& loss) {
  static const NameId kZero = intern("grad_zero");
  step_ = step;
  loss_ = loss;
  for (const auto& chunk : chunks_) {
    const bool is_under_way = chunk == chunks_.front() && gathered_early_for_ == step;
    if (!is_under_way) chunk->param_gather->begin_step(step);
    chunk->grad_reduce->begin_step(step);
  }
  model::Enqueue zero = enqueue(Direction::none, -1);
  zero.tag.kind = Kind::copy;
  for (const auto& chunk : chunks_) zero(kZero, kernels::fill(flat(chunk->buffers.grads), 0));
  zero(kZero, kernels::fill(loss_, 0));
}

// Forward passes, backward passes and their halves each take the microbatches in order, so those in between are
// neighbors.
model::Slot ModelStage::slot(const ChunkOfStage& chunk, std::int64_t microbatch) const {
  const auto place = [&](std::int32_t of) { return of > 0 ? static_cast<std::int32_t>(microbatch % of) : 0; };
  return {place(chunk.num_slots.activations), place(chunk.num_slots.gradients)};
}

model::Weights ModelStage::weights(ChunkOfStage& chunk, std::int64_t microbatch) const {
  return {.buffers = &chunk.buffers,
          .gather = chunk.param_gather.get(),
          .reduce = chunk.grad_reduce.get(),
          .is_last_microbatch = microbatch + 1 == rank_.config->train.num_microbatches};
}

// What the chunk needs: with the embedding inputs and perhaps their positions, then with the head targets.
std::vector<std::int32_t> ModelStage::tokens_of(const ChunkOfStage& chunk, std::int64_t microbatch) const {
  const plan::TrainConfig& train = rank_.config->train;
  const std::int64_t replicas = rank_.config->parallel.data_parallel_size;
  const std::int64_t first =
      ((step_ * train.num_microbatches + microbatch) * replicas + rank_.groups->place.data()) * train.micro_batch_size;
  const cp::SequencePart part(rank_.config->model.seq_length, rank_.groups->context);
  std::vector<std::int32_t> inputs, positions, targets;
  for (std::int64_t i = 0; i < train.micro_batch_size; ++i) {
    std::vector<std::int32_t> whole_inputs, whole_targets;
    rank_.data->append_sample(first + i, whole_inputs, whole_targets);
    part.append(whole_inputs, inputs);
    part.append(whole_targets, targets);
    part.append_positions(positions);
  }
  std::vector<std::int32_t> tokens;
  const auto add = [&](const std::vector<std::int32_t>& more) {
    tokens.insert(tokens.end(), more.begin(), more.end());
  };
  if (chunk.range.has_embedding) add(inputs);
  if (chunk.range.has_embedding && plan::uploads_positions(*rank_.config)) add(positions);
  if (chunk.range.has_head) add(targets);
  return tokens;
}

void ModelStage::forward(std::int32_t c, std::int64_t microbatch, const View& input, const View& output) {
  ChunkOfStage& chunk = *chunks_[static_cast<std::size_t>(c)];
  std::vector<std::int32_t> tokens;
  if (chunk.range.has_embedding || chunk.range.has_head) tokens = tokens_of(chunk, microbatch);
  chunk.model->forward(enqueue(Direction::forward, microbatch), weights(chunk, microbatch),
                       {.slot = slot(chunk, microbatch).activations,
                        .microbatch = microbatch,
                        .tokens = tokens,
                        .input = input,
                        .output = output,
                        .loss = loss_});
}

void ModelStage::backward(std::int32_t c, std::int64_t microbatch, const View& d_output, const View& d_input) {
  ChunkOfStage& chunk = *chunks_[static_cast<std::size_t>(c)];
  chunk.model->backward(enqueue(Direction::backward, microbatch), weights(chunk, microbatch), slot(chunk, microbatch),
                        d_output, d_input);
}

void ModelStage::dgrad(std::int32_t c, std::int64_t microbatch, const View& d_output, const View& d_input) {
  ChunkOfStage& chunk = *chunks_[static_cast<std::size_t>(c)];
  model::Weights without_wgrads = weights(chunk, microbatch);
  without_wgrads.puts_off_wgrads = true;
  chunk.model->backward(enqueue(Direction::backward, microbatch), without_wgrads, slot(chunk, microbatch), d_output,
                        d_input);
}

void ModelStage::wgrad(std::int32_t c, std::int64_t microbatch) {
  ChunkOfStage& chunk = *chunks_[static_cast<std::size_t>(c)];
  chunk.model->wgrad(enqueue(Direction::backward, microbatch), weights(chunk, microbatch), slot(chunk, microbatch));
}

void ModelStage::start_param_gather(std::int32_t c) {
  // The first chunk's may be under way since the last update.
  if (c == 0 && gathered_early_for_ == step_) return;
  chunks_[static_cast<std::size_t>(c)]->param_gather->start();
}

void ModelStage::start_grad_reduce(std::int32_t c) { chunks_[static_cast<std::size_t>(c)]->grad_reduce->start(); }

void ModelStage::finish_deferred_wgrads() {
  ChunkOfStage& chunk = *chunks_.back();
  const std::int64_t last = rank_.config->train.num_microbatches - 1;
  chunk.model->finish_deferred_wgrads(enqueue(Direction::backward, last), weights(chunk, last));
}

void ModelStage::finish_gradients() {
  for (const auto& chunk : chunks_) chunk->grad_reduce->finish();
  if (norm_gradients_) norm_gradients_->all_reduce(enqueue(Direction::backward, -1));
  if (tied_embedding_) all_reduce_tied_embedding();
}

void ModelStage::gather_first_chunk_early() {
  gathered_early_for_ = step_ + 1;
  chunks_.front()->param_gather->begin_step(step_ + 1);
  chunks_.front()->param_gather->start();
}

// A tied head lies on the last stage, its embedding on the first: each has a part of the gradient.
void ModelStage::declare_tied_embedding() {
  const Group& stages = rank_.groups->pipeline;
  const bool is_end = stages.my_index == 0 || stages.my_index == stages.size() - 1;
  if (!rank_.config->model.share_embeddings_and_output_weights || stages.size() == 1 || !is_end) return;
  const Group ends{{stages.members.front(), stages.members.back()}, stages.my_index == 0 ? 0 : 1};
  tied_embedding_ = rank_.device->declare("embedding", ends, {.priority = nccl_priority(*rank_.config)});
  const ChunkOfStage& chunk = stages.my_index == 0 ? *chunks_.front() : *chunks_.back();
  tied_gradient_ =
      chunk.buffers.main_grad(stages.my_index == 0 ? chunk.parameters.word_embedding : chunk.parameters.head);
}

// Behind the reduction over data-parallel ranks: both stages' shards of the weight are the same range, since it has a
// bucket of its own. Source: Megatron Core's all-reduce of word embedding gradients.
void ModelStage::all_reduce_tied_embedding() const {
  static const NameId kPurpose = intern("embedding_grad_all_reduce");
  const Transfer sum{.collective = Collective::all_reduce, .input = tied_gradient_, .output = tied_gradient_};
  const Scope scope(*rank_.device, rank_.compute, Mode::pp);
  scope.communicate_at_once(*tied_embedding_, {.direction = Direction::backward, .step = step_}, kPurpose, {sum});
}

}  // namespace underlap
