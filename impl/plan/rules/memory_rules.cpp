// SPDX-License-Identifier: Apache-2.0
// Settings that are planned only for their memory: Megatron-FSDP, activations offloaded to the host's memory, and an
// optimizer that keeps less of main parameters.
#include <fmt/format.h>

#include "impl/plan/rules/resolution.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kFsdp = "ddp.use_megatron_fsdp";
constexpr std::string_view kStrategy = "ddp.data_parallel_sharding_strategy";
constexpr std::string_view kUnitSize = "ddp.suggested_communication_unit_size";
constexpr std::string_view kOffload = "model.cpu_offloading";
constexpr std::string_view kOffloadLayers = "model.cpu_offloading_num_layers";
constexpr std::string_view kPrecisionAware = "optimizer.use_precision_aware_optimizer";

constexpr EnumNames<ShardingStrategy, 4> kStrategies{{"no_shard", "optim", "optim_grads", "optim_grads_params"}};

void read_fsdp(Resolution& r) {
  if (!in_scope(Scope::fsdp, r)) return;
  FsdpConfig fsdp;
  fsdp.strategy = kStrategies.find(r.settings.text(kStrategy, "no_shard")).value_or(ShardingStrategy::no_shard);
  fsdp.double_buffer = r.settings.flag("ddp.fsdp_double_buffer", false);
  if (r.settings.given(kUnitSize)) fsdp.communication_unit_size = r.settings.integer(kUnitSize, 0);
  r.config().ddp.fsdp = fsdp;
  r.notice({kFsdp},
           "only the memory of Megatron-FSDP is predicted; its transfers and their exposed time are not planned: "
           "buckets and overlap are those of a run without it");
  if (fsdp.strategy == ShardingStrategy::no_shard)
    r.notice({kFsdp}, fmt::format("use_megatron_fsdp shards nothing with {} no_shard, its default; Megatron-Bridge's "
                                  "recipes set optim_grads_params",
                                  kStrategy));
}

void read_offload(Resolution& r) {
  if (!r.settings.flag(kOffload, false)) return r.warn_no_effect(kOffloadLayers, "model.cpu_offloading is false");
  const std::int64_t layers = r.settings.integer(kOffloadLayers, 0);
  if (r.config().model.num_layers > 0 && layers >= r.config().model.num_layers)
    r.error({kOffloadLayers}, fmt::format("cpu_offloading_num_layers is {}, but Megatron Core requires fewer than the "
                                          "{} layers of the model; lower it",
                                          layers, r.config().model.num_layers));
  if (r.config().parallel.num_stages() > 1)
    r.error({kOffload},
            "cpu_offloading is incompatible with pipeline_model_parallel_size above 1: Megatron Core rejects it; leave "
            "one of them out");
  if (r.settings.given("model.recompute_granularity"))
    r.error(
        {kOffload},
        "cpu_offloading is incompatible with recompute_granularity: Megatron Core rejects it; leave one of them out");
  r.config().offload.num_layers = static_cast<std::int32_t>(layers);
}

}  // namespace

void apply_memory_rules(Resolution& r) {
  read_fsdp(r);
  read_offload(r);
  if (r.config().optimizer.use_precision_aware_optimizer && !r.settings.is_dump)
    r.notice({kPrecisionAware},
             "predicted memory includes use_precision_aware_optimizer; the optimizer that runs keeps main parameters "
             "in fp32");
}

}  // namespace underlap::plan
