// SPDX-License-Identifier: Apache-2.0
#include "impl/step/trainer.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "impl/plan/config.hpp"
#include "platform/errors.hpp"

namespace underlap {

Trainer::Trainer(Device& device, const plan::Config& config, const ParallelGroups& groups, const model::TextData& data,
                 std::int32_t first_step)
    : device_(device),
      config_(config),
      data_(data),
      groups_(groups),
      compute_(device.create_stream("compute")),
      tensor_(device, groups.tensor, compute_, config),
      context_(device, groups.context, compute_, config),
      stage_(std::make_unique<ModelStage>(declare())),
      first_step_(first_step),
      step_(first_step),
      first_loss_(first_step) {
  const model::Shape shape(config, {groups.tensor.size(), groups.tensor.my_index});
  pipeline_ = pp::make_pipeline({.device = &device,
                                 .config = &config_,
                                 .group = groups.pipeline,
                                 .compute = compute_,
                                 .tensor = groups.tensor,
                                 .rows = shape.tokens_here,
                                 .cols = shape.hidden});
  std::vector<model::OptimizedChunk> chunks;
  for (std::int32_t c = 0; c < stage_->num_chunks(); ++c) chunks.push_back(stage_->optimized(c));
  optimizer_ = std::make_unique<model::Optimizer>(device, config, chunks, shape.tensor, declare_norm());
  losses_ = device.allocate("losses", DataType::f32, kLossSlots);
  device.begin();
  model::Enqueue outside_steps = enqueue(Direction::none);
  outside_steps.tag.step = -1;
  stage_->initialize(outside_steps);
  optimizer_->initialize(outside_steps);
}

// Reduces and gathers share one communicator, and so one stream, unless separate_gather_communicator parts them: a
// step's last reduce and the next step's first gather then never wait for each other's stream.
ModelStage::Rank Trainer::declare() {
  const auto declare = [&](std::string_view purpose, const Group& group) {
    return device_.declare(purpose, group, {.priority = nccl_priority(config_)});
  };
  const Communicator reduce = declare("dp", groups_.instance);
  std::optional<Communicator> across_instances;
  if (groups_.across_instances.size() > 1) across_instances = declare("dp_instances", groups_.across_instances);
  return {.device = &device_,
          .config = &config_,
          .groups = &groups_,
          .data = &data_,
          .compute = compute_,
          .tensor = &tensor_,
          .context = &context_,
          .reduce = reduce,
          .gather = config_.extensions.separate_gather_communicator ? declare("dp_gather", groups_.instance) : reduce,
          .across_instances = across_instances};
}

// The gradient norm is one number of all ranks that hold another part of the gradients.
std::optional<Communicator> Trainer::declare_norm() {
  const bool is_sharded = config_.ddp.use_distributed_optimizer;
  if (config_.optimizer.clip_grad <= 0 || !(is_sharded || groups_.model.size() > 1)) return std::nullopt;
  return device_.declare("grad_norm", optimizer_group(config_, rank_of(config_.parallel, groups_.place)),
                         {.priority = nccl_priority(config_)});
}

model::Enqueue Trainer::enqueue(Direction direction) const {
  return {
      .device = &device_, .stream = compute_, .tag = {.kind = Kind::compute, .direction = direction, .step = step_}};
}

void Trainer::step(std::int32_t block) {
  if (step_ - first_loss_ >= kLossSlots) throw std::logic_error("more steps than slots for losses between two drains");
  device_.synchronize(step_ends_[static_cast<std::size_t>(step_) % 2]);
  device_.host_work(HostWork::iteration);
  stage_->begin_step(step_, flat(losses_, step_ - first_loss_, 1));
  pipeline_->run(*stage_, step_);
  stage_->finish_gradients();
  update();
  device_.mark(compute_, block, step_);
  step_ends_[static_cast<std::size_t>(step_) % 2] = device_.record(compute_);
  ++step_;
}

void Trainer::update() {
  const model::Enqueue at = enqueue(Direction::optimizer);
  optimizer_->begin_step(at);
  for (std::int32_t c = 0; c < stage_->num_chunks(); ++c) {
    optimizer_->update(at, c, step_ - first_step_);
    if (c == 0 && config_.optimizer.overlap_param_gather_with_optimizer_step) stage_->gather_first_chunk_early();
  }
}

std::vector<double> Trainer::take_losses() {
  device_.synchronize();
  std::vector<float> values(static_cast<std::size_t>(step_ - first_loss_));
  device_.download(flat(losses_, 0, step_ - first_loss_), std::as_writable_bytes(std::span(values)));
  first_loss_ = step_;
  if (!stage_->has_head()) return {};
  return {values.begin(), values.end()};
}

void Trainer::check_gradients() {
  if (optimizer_->has_nonfinite())
    throw MachineError(fmt::format("rank {}: a gradient was infinite or NaN before step {}",
                                   rank_of(config_.parallel, groups_.place), step_));
}

}  // namespace underlap
