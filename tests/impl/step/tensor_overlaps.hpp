// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "impl/plan/config.hpp"
#include "tests/impl/step/training.hpp"

namespace underlap::testing_support {

/// A choice of tensor-parallel techniques, and what it does to the values of a step.
struct TensorOverlapCase {
  std::string name;
  plan::TensorOverlap overlap;
  bool reorders = false;  ///< sums of a reduce-scatter in another order than NCCL's, or rounded elsewhere
  bool sequence_parallel = true;
};

inline void PrintTo(const TensorOverlapCase& c, std::ostream* out) { *out << c.name; }

inline plan::TensorOverlap all_slots(const plan::TensorSlotOverlap& overlap) {
  plan::TensorOverlap all;
  all.slots.fill(overlap);
  return all;
}

/// As Transformer Engine's own settings are, but for what `change` makes of them.
template <class Change>
plan::TensorOverlap userbuffers(Change change) {
  using plan::TensorMethod, plan::TensorSlot;
  plan::TensorOverlap o;
  for (const TensorSlot slot :
       {TensorSlot::qkv_fprop, TensorSlot::fc1_fprop, TensorSlot::proj_dgrad, TensorSlot::fc2_dgrad})
    o[slot] = {.method = TensorMethod::ring_exchange};
  for (const TensorSlot slot : {TensorSlot::proj_fprop, TensorSlot::fc2_fprop})
    o[slot] = {.method = TensorMethod::pipeline, .num_sm = 16, .set_sm_margin = true, .num_splits = 4};
  for (const TensorSlot slot :
       {TensorSlot::qkv_dgrad, TensorSlot::qkv_wgrad, TensorSlot::fc1_dgrad, TensorSlot::fc1_wgrad})
    o[slot] = {.method = TensorMethod::bulk, .num_sm = 4};
  change(o);
  return o;
}

/// Every technique of impl/tp in every slot that has it.
inline std::vector<TensorOverlapCase> tensor_overlap_cases() {
  using plan::TensorMethod, plan::TensorSlot, plan::TensorOverlap;
  const auto scatter = [](TensorOverlap& o, TensorSlot slot, TensorMethod method) {
    o[slot] = {.method = method, .num_splits = 2};
  };
  return {
      {"waited", all_slots({.method = TensorMethod::waited})},
      {"nccl", all_slots({.method = TensorMethod::nccl})},
      {"userbuffers", userbuffers([](TensorOverlap&) {}), false},
      {"aggregate", userbuffers([](TensorOverlap& o) {
         for (plan::TensorSlotOverlap& slot : o.slots) slot.aggregate = slot.method == TensorMethod::ring_exchange;
       })},
      {"ring_scatter", userbuffers([&](TensorOverlap& o) {
         scatter(o, TensorSlot::proj_fprop, TensorMethod::ring_exchange);
         scatter(o, TensorSlot::fc2_fprop, TensorMethod::ring_exchange);
       }),
       true},
      {"ring_dgrad", userbuffers([&](TensorOverlap& o) {
         o[TensorSlot::qkv_wgrad] = o[TensorSlot::fc1_wgrad] = {.method = TensorMethod::waited};
         scatter(o, TensorSlot::qkv_dgrad, TensorMethod::ring_exchange);
         scatter(o, TensorSlot::fc1_dgrad, TensorMethod::ring_exchange);
       }),
       true},
      {"pipeline_dgrad", userbuffers([&](TensorOverlap& o) {
         o[TensorSlot::qkv_wgrad] = o[TensorSlot::fc1_wgrad] = {};
         scatter(o, TensorSlot::qkv_dgrad, TensorMethod::pipeline);
         scatter(o, TensorSlot::fc1_dgrad, TensorMethod::pipeline);
       }),
       false},
  };
}

/// The same with cases in which every rank holds whole activations between layers.
inline std::vector<TensorOverlapCase> all_tensor_overlap_cases() {
  std::vector<TensorOverlapCase> cases = tensor_overlap_cases();
  for (const char* const name : {"waited", "nccl"}) {
    const auto same = std::find_if(cases.begin(), cases.end(), [&](const auto& c) { return c.name == name; });
    cases.push_back({std::string("whole_") + name, same->overlap, false, false});
  }
  return cases;
}

/// Techniques that reduce in fp8, where products are of fp8.
inline std::vector<TensorOverlapCase> fp8_overlap_cases() {
  using plan::TensorMethod, plan::TensorSlot, plan::TensorOverlap;
  const auto scatter = [](TensorOverlap& o, TensorSlot slot, TensorMethod method) {
    o[slot] = {.method = method, .num_splits = 2, .fp8_buf = true};
  };
  return {{"fp8_ring_scatter", userbuffers([&](TensorOverlap& o) {
             scatter(o, TensorSlot::proj_fprop, TensorMethod::ring_exchange);
             scatter(o, TensorSlot::fc2_fprop, TensorMethod::ring_exchange);
           })},
          {"fp8_pipeline_scatter", userbuffers([&](TensorOverlap& o) {
             for (const TensorSlot slot :
                  {TensorSlot::proj_fprop, TensorSlot::fc2_fprop, TensorSlot::qkv_dgrad, TensorSlot::fc1_dgrad})
               scatter(o, slot, TensorMethod::pipeline);
             o[TensorSlot::qkv_wgrad] = o[TensorSlot::fc1_wgrad] = {};
           })}};
}

/// Cuts every layer of `config` in `tensor` parts, with sizes that this divides.
inline void cut_layers(plan::Config& config, std::int32_t tensor) {
  config.model.hidden_size = 64;
  config.model.ffn_hidden_size = 96;
  config.model.num_attention_heads = 8;
  config.model.num_query_groups = 4;
  config.parallel.tensor_model_parallel_size = tensor;
  config.parallel.sequence_parallel = tensor > 1;
}

/// The small model, cut by `tensor` and `data`.
inline plan::Config small_tensor_config(std::int32_t tensor, std::int32_t data) {
  plan::Config config = small_config(data);
  cut_layers(config, tensor);
  return config;
}

/// Makes the layers of `config` but the first and the last multiply in fp8, three layers with sizes that fp8 products
/// take over four tensor-parallel ranks.
inline void multiply_in_fp8(plan::Config& config) {
  config.model.num_layers = 3;
  config.model.ffn_hidden_size = 128;
  config.model.seq_length = 32;
  config.mixed_precision = {.recipe = "bf16_with_fp8_current_scaling_mixed", .fp8_param_gather = true};
}

/// Gives `config` the shapes that its model has none of, with gradients and gathers that overlap.
inline void with_biases_and_layer_norm(plan::Config& config) {
  config.ddp.overlap_grad_reduce = config.ddp.overlap_param_gather = true;
  config.model.add_bias_linear = true;
  config.model.normalization = plan::Normalization::layer_norm;
  config.model.activation = plan::Activation::gelu;
  config.model.position_embedding_type = plan::PositionEmbedding::rope;
}

}  // namespace underlap::testing_support
