// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/memory/memory_parts.hpp"

#include "impl/plan/precision.hpp"

namespace underlap::plan {
namespace {

/// Ranks that the shards of one optimizer, or of all with Megatron-FSDP, are spread over.
double num_shards(const Config& c) {
  return std::max(1.0, static_cast<double>(c.parallel.num_replicas()) / c.ddp.num_distributed_optimizer_instances);
}

bool shards(const Config& c, ShardingStrategy what) { return c.ddp.fsdp && c.ddp.fsdp->strategy >= what; }

double gradient_bytes(const Config& c) { return c.ddp.grad_reduce_in_fp32 ? 4 : 2; }

/// Bytes of a weight whose product is in fewer than 16 bits, with the bf16 weight if it is gathered in bf16. A shard of
/// Megatron-FSDP has no transposed copy of a weight with one scale, because the copy is made from the gathered weight.
double bytes_of_low_precision_weight(const Config& c, bool is_shard) {
  const Scaling scaling = scaling_of(c);
  const bool is_made_later = is_shard && (scaling == Scaling::delayed || scaling == Scaling::tensorwise);
  const double copies = holds_weights_twice(scaling, c.environment.gpu_arch) && !is_made_later ? 2 : 1;
  return copies * weight_bytes(scaling) + (gathers_in_low_precision(c) ? 0 : 2);
}

/// fp32 main parameters and two moments of Adam. The precision-aware optimizer keeps of a main parameter the 16 bits
/// that its bf16 parameter lacks. Source: Megatron Core's OptimizerConfig, store_param_remainders.
double optimizer_bytes(const Config& c, const StageParameters& parameters) {
  const double in_bf16 = parameters.total() - (gathers_in_low_precision(c) ? parameters.low_precision : 0);
  return 12 * parameters.total() - (c.optimizer.use_precision_aware_optimizer ? 2 * in_bf16 : 0);
}

double parameter_bytes(const Config& c, const StageParameters& parameters, bool is_shard) {
  return 2 * (parameters.total() - parameters.low_precision) +
         bytes_of_low_precision_weight(c, is_shard) * parameters.low_precision;
}

/// Of Megatron-FSDP's units, which are layers, how much is whole at once: the one in use and the next, or as many as
/// may be on their way besides the one in use. Source: Megatron-FSDP, suggested_communication_unit_size (10^9
/// parameters for gradients, half of it for parameters) and fsdp_double_buffer.
double whole_at_once(const Config& c, double unit, double on_the_way) {
  if (c.ddp.fsdp->double_buffer) return 2 * unit;
  return std::max(2 * unit, unit + on_the_way);
}

/// Tables are in no unit: they stay whole from their first use to the end of the step.
StateBytes sharded_state(const Config& c, const RankShape& shape, const StageParameters& parameters) {
  constexpr double kOnTheWay = 1e9;
  const double on_the_way = double(c.ddp.fsdp->communication_unit_size.value_or(std::int64_t(kOnTheWay)));
  const double layers = parameters.layers, unit = std::min(layers, shape.layer_parameters());
  const auto held = [&](double whole_units) { return std::min(layers, whole_units) + parameters.tables; };
  StateBytes state;
  state.parameters = parameter_bytes(c, parameters, false);
  if (shards(c, ShardingStrategy::optim_grads_params)) {
    const double units = std::min(layers, whole_at_once(c, unit, on_the_way / 2));
    const double share = layers > 0 ? units / layers : 0;
    const StageParameters whole{parameters.low_precision * share, units, parameters.tables};
    state.parameters = parameter_bytes(c, parameters, true) / num_shards(c) + parameter_bytes(c, whole, false);
  }
  state.gradients = gradient_bytes(c) * parameters.total();
  if (shards(c, ShardingStrategy::optim_grads))
    state.gradients = state.gradients / num_shards(c) + gradient_bytes(c) * held(whole_at_once(c, unit, on_the_way));
  state.optimizer = optimizer_bytes(c, parameters) / (shards(c, ShardingStrategy::optim) ? num_shards(c) : 1);
  return state;
}

}  // namespace

StateBytes state_bytes(const Config& c, const RankShape& shape, const Stage& stage) {
  const StageParameters parameters = stage_parameters(c, shape, stage);
  if (c.ddp.fsdp) return sharded_state(c, shape, parameters);
  return {.parameters = parameter_bytes(c, parameters, false),
          .gradients = gradient_bytes(c) * parameters.total(),
          .optimizer = optimizer_bytes(c, parameters) / (c.ddp.use_distributed_optimizer ? num_shards(c) : 1)};
}

}  // namespace underlap::plan
