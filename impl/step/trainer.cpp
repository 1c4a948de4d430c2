// SPDX-License-Identifier: Apache-2.0
#include "impl/step/trainer.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>
#include <utility>

#include "kernels/elementwise/elementwise.hpp"
#include "platform/errors.hpp"

namespace underlap {

dp::BucketLayout bucket_layout(const plan::Config& config) {
  // Without any overlap there is nothing to cut for: one bucket, one collective each way.
  const bool any_overlap = config.ddp.overlap_grad_reduce || config.ddp.overlap_param_gather;
  return dp::lay_out(model::list_parameters(config.model).all,
                     {.bucket_size = any_overlap ? config.ddp.bucket_size : std::nullopt,
                      .data_parallel_size = config.parallel.data_parallel_size,
                      .pad_buckets_for_high_nccl_busbw = config.ddp.pad_buckets_for_high_nccl_busbw});
}

Group data_parallel_group(const plan::Config& config, std::int32_t rank) {
  Group group{std::vector<std::int32_t>(static_cast<std::size_t>(config.parallel.data_parallel_size)), rank};
  std::iota(group.members.begin(), group.members.end(), 0);
  return group;
}

namespace {

dp::Buffers make_buffers(Device& device, const plan::Config& config, const Group& group,
                         std::vector<dp::Parameter> parameters) {
  dp::Buffers buffers;
  buffers.layout = bucket_layout(config);
  buffers.parameters = std::move(parameters);
  buffers.group = group;
  buffers.is_sharded = config.ddp.use_distributed_optimizer;
  buffers.params = device.allocate("parameters", DataType::bf16, buffers.layout.elements);
  buffers.grads = device.allocate("main_gradients", config.ddp.grad_reduce_in_fp32 ? DataType::f32 : DataType::bf16,
                                  buffers.layout.elements);
  return buffers;
}

}  // namespace

Trainer::Trainer(Device& device, const plan::Config& config, const Group& group, const model::TextData& data,
                 std::int32_t first_step)
    : device_(device),
      config_(config),
      data_(data),
      compute_(device.create_stream("compute")),
      parameters_(model::list_parameters(config.model)),
      first_step_(first_step),
      step_(first_step),
      first_loss_(first_step) {
  buffers_ = make_buffers(device, config, group, parameters_.all);
  declare_communicators();
  const dp::Context context{.device = &device,
                            .buffers = &buffers_,
                            .compute = compute_,
                            .reduce = reduce_,
                            .gather = gather_,
                            .config = &config_};
  grad_reduce_ = dp::make_grad_reduce(context);
  param_gather_ = dp::make_param_gather(context);
  transformer_ = std::make_unique<model::Transformer>(device, config, parameters_);
  optimizer_ = std::make_unique<model::Optimizer>(device, config, buffers_, norm_);
  losses_ = device.allocate("losses", DataType::f32, kLossSlots);
  device.begin();
  model::Enqueue outside_steps = enqueue(Direction::none, -1);
  outside_steps.tag.step = -1;
  optimizer_->initialise(outside_steps);
}

// Reduces and gathers share one communicator, and so one stream, unless separate_gather_communicator parts them: a
// step's last reduce and the next step's first gather then never wait for each other's stream.
void Trainer::declare_communicators() {
  const CommunicatorHints hints{.priority =
                                    config_.environment.torch_nccl_high_priority ? Priority::high : Priority::normal};
  const auto declare = [&](std::string_view purpose) { return device_.declare(purpose, buffers_.group, hints); };
  reduce_ = declare("dp");
  gather_ = config_.extensions.separate_gather_communicator ? declare("dp_gather") : reduce_;
  norm_ = config_.optimizer.clip_grad > 0 ? declare("grad_norm") : reduce_;
}

model::Enqueue Trainer::enqueue(Direction direction, std::int32_t microbatch) const {
  return {.device = &device_,
          .stream = compute_,
          .tag = {.kind = Kind::compute, .direction = direction, .microbatch = microbatch, .step = step_}};
}

void Trainer::step(std::int32_t block) {
  static const NameId kZero = intern("grad_zero");
  if (step_ - first_loss_ >= kLossSlots) throw std::logic_error("more steps than slots for losses between two drains");
  device_.synchronize(step_ends_[static_cast<std::size_t>(step_) % 2]);
  param_gather_->begin_step(step_);
  grad_reduce_->begin_step(step_);
  model::Enqueue zero = enqueue(Direction::none, -1);
  zero.tag.kind = Kind::copy;
  zero(kZero, kernels::fill(flat(buffers_.grads), 0));
  zero(kZero, kernels::fill(flat(losses_, step_ - first_loss_, 1), 0));
  for (std::int32_t m = 0; m < config_.train.num_microbatches; ++m) microbatch(m);
  grad_reduce_->finish();
  optimizer_->step(enqueue(Direction::optimizer, -1), step_ - first_step_);
  device_.mark(compute_, block, step_);
  step_ends_[static_cast<std::size_t>(step_) % 2] = device_.record(compute_);
  ++step_;
}

void Trainer::microbatch(std::int32_t m) {
  const plan::TrainConfig& train = config_.train;
  const std::int64_t replicas = buffers_.group.size();
  const std::int64_t first =
      ((step_ * train.num_microbatches + m) * replicas + buffers_.group.my_index) * train.micro_batch_size;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;
  for (std::int64_t i = 0; i < train.micro_batch_size; ++i) data_.append_sample(first + i, tokens, targets);
  tokens.insert(tokens.end(), targets.begin(), targets.end());
  const model::Weights weights{.buffers = &buffers_,
                               .gather = param_gather_.get(),
                               .reduce = grad_reduce_.get(),
                               .is_last_microbatch = m + 1 == train.num_microbatches};
  const model::Enqueue at = enqueue(Direction::none, m);
  transformer_->forward(at, weights, tokens, flat(losses_, step_ - first_loss_, 1));
  transformer_->backward(at, weights);
}

std::vector<double> Trainer::take_losses() {
  device_.synchronize();
  std::vector<float> values(static_cast<std::size_t>(step_ - first_loss_));
  device_.download(flat(losses_, 0, step_ - first_loss_), std::as_writable_bytes(std::span(values)));
  if (optimizer_->has_nonfinite())
    throw MachineError(fmt::format("rank {}: a gradient was infinite or NaN before step {}",
                                   buffers_.group.members[static_cast<std::size_t>(buffers_.group.my_index)], step_));
  first_loss_ = step_;
  return {values.begin(), values.end()};
}

}  // namespace underlap
