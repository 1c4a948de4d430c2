// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/memory/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "impl/plan/memory/memory.hpp"
#include "impl/plan/pipeline_schedules.hpp"
#include "impl/plan/tensor_slots.hpp"

namespace underlap::plan {
namespace {

/// Configurations with something of one kind changed, each with more of it than the one before.
using Changes = std::vector<Config>;

bool is_even(const Config& c) { return c.parallel.layers_of_ranges.empty(); }

std::int64_t layers_of_largest_chunk(const Config& c) {
  if (is_even(c)) return c.model.num_layers / c.parallel.num_chunks();
  return *std::ranges::max_element(c.parallel.layers_of_ranges);
}

bool divides(std::int64_t size, std::int64_t whole) { return whole % size == 0; }

/// Each layer's input is kept, of one more layer of every chunk at a time.
Changes more_recomputed_layers(const Config& c) {
  Changes changes;
  if (splits_backward(c) || c.offload.num_layers > 0 || c.recompute.method == RecomputeMethod::uniform) return changes;
  // One after the other; of absurdly many every so many.
  constexpr std::int64_t kMostSteps = 64;
  const std::int64_t most = layers_of_largest_chunk(c), left = most - c.recompute.num_layers;
  const auto step = static_cast<std::int32_t>(std::max<std::int64_t>(1, left / kMostSteps));
  for (std::int32_t layers = c.recompute.num_layers + step; layers <= most; layers += step) {
    Config changed = c;
    changed.recompute = {.method = RecomputeMethod::block, .num_layers = layers};
    changes.push_back(changed);
  }
  return changes;
}

/// `config` with the same ranks and samples per step, after converting data-parallel ranks to ranks of another kind;
/// nothing if they do not divide.
std::optional<Config> with_fewer_replicas(Config config, std::int32_t factor) {
  std::int32_t& replicas = config.parallel.data_parallel_size;
  if (!divides(factor, replicas)) return std::nullopt;
  replicas /= factor;
  config.train.num_microbatches *= factor;
  if (!divides(config.ddp.num_distributed_optimizer_instances,
               std::int64_t{replicas} * config.parallel.context_parallel_size))
    return std::nullopt;
  return config;
}

/// As many chunks a stage as before, or the most below that share the layers alike.
bool set_stages(Config& c, std::int32_t stages) {
  ParallelConfig& p = c.parallel;
  p.pipeline_model_parallel_size = stages;
  while (p.virtual_pipeline_model_parallel_size > 1 && !divides(p.num_chunks(), c.model.num_layers))
    --p.virtual_pipeline_model_parallel_size;
  const bool is_interleaved = p.virtual_pipeline_model_parallel_size > 1;
  c.pipeline.overlap_p2p_comm = is_interleaved || c.extensions.overlap_without_virtual_stages;
  c.pipeline.microbatch_group_size_per_vp_stage = stages;
  if (!divides(p.num_chunks(), c.model.num_layers)) return false;
  c.recompute.num_layers = std::min(c.recompute.num_layers, static_cast<std::int32_t>(layers_of_largest_chunk(c)));
  return !is_interleaved || divides(stages, c.train.num_microbatches);
}

/// On an emulated link there are no other stages.
Changes more_stages(const Config& c) {
  Changes changes;
  if (!is_even(c) || splits_backward(c) || c.run.emulated_link) return changes;
  const std::int32_t stages = c.parallel.pipeline_model_parallel_size;
  for (std::int32_t factor = 2; std::int64_t{stages} * factor <= c.model.num_layers; factor *= 2) {
    std::optional<Config> changed = with_fewer_replicas(c, factor);
    if (changed && set_stages(*changed, stages * factor)) changes.push_back(*changed);
  }
  return changes;
}

/// As many as GPUs of a node. Presets of userbuffers are tuned for one size.
Changes more_tensor_ranks(const Config& c) {
  Changes changes;
  const std::int64_t most = c.run.gpus_per_node.value_or(8);
  const ModelConfig& m = c.model;
  if (uses_userbuffers(c.tensor_overlap)) return changes;
  const std::int32_t ranks = c.parallel.tensor_model_parallel_size;
  for (std::int32_t factor = 2; std::int64_t{ranks} * factor <= most; factor *= 2) {
    const std::int64_t size = std::int64_t{ranks} * factor;
    std::optional<Config> changed = with_fewer_replicas(c, factor);
    const bool is_split = divides(size, m.num_attention_heads) && divides(size, m.num_query_groups) &&
                          divides(size, m.ffn_hidden_size) && divides(size, m.vocab_size) &&
                          divides(size * c.parallel.context_parallel_size, m.seq_length);
    if (!changed || !is_split) continue;
    changed->parallel.tensor_model_parallel_size = static_cast<std::int32_t>(size);
    changed->parallel.sequence_parallel = true;
    changes.push_back(*changed);
  }
  return changes;
}

Changes sharded_optimizer(const Config& c) {
  const bool has_replicas = c.parallel.data_parallel_size * c.parallel.context_parallel_size > 1;
  const bool is_sharded =
      c.ddp.fsdp || (c.ddp.use_distributed_optimizer && c.ddp.num_distributed_optimizer_instances == 1);
  if (!has_replicas || is_sharded) return {};
  Config changed = c;
  changed.ddp.use_distributed_optimizer = true;
  changed.ddp.num_distributed_optimizer_instances = 1;
  return {changed};
}

/// In a ring each rank has two parts of a sequence.
Changes more_context_ranks(const Config& c) {
  Changes changes;
  if (c.context.cp_comm_type != std::vector{CpCommType::p2p}) return changes;
  for (std::int32_t factor = 2; factor <= c.parallel.data_parallel_size; factor *= 2) {
    std::optional<Config> changed = with_fewer_replicas(c, factor);
    const std::int64_t ranks = std::int64_t{c.parallel.context_parallel_size} * factor;
    if (!changed || !divides(2 * ranks * c.parallel.tensor_model_parallel_size, c.model.seq_length)) continue;
    changed->parallel.context_parallel_size = static_cast<std::int32_t>(ranks);
    changes.push_back(*changed);
  }
  return changes;
}

Changes smaller_microbatches(const Config& c) {
  Changes changes;
  for (std::int64_t factor = 2; factor <= c.train.micro_batch_size; factor *= 2) {
    if (!divides(factor, c.train.micro_batch_size)) break;
    Config changed = c;
    changed.train.micro_batch_size /= factor;
    changed.train.num_microbatches *= factor;
    changes.push_back(changed);
  }
  return changes;
}

constexpr Changes (*kKindsOfChanges[])(const Config&) = {more_recomputed_layers, more_stages,
                                                         more_tensor_ranks,      sharded_optimizer,
                                                         more_context_ranks,     smaller_microbatches};

bool fits(const Config& config, std::int64_t bytes) { return predicted_memory(config).total() <= bytes; }

/// The first of one kind after the other that fits. Fails when a later one would be faster: times are not compared.
std::optional<Config> first_that_fits(const Config& config, std::int64_t bytes) {
  for (const auto& kind : kKindsOfChanges)
    for (Config& changed : kind(config))
      if (fits(changed, bytes)) return std::move(changed);
  return std::nullopt;
}

/// The first pair of changes that fits: for each kind, the change that saves most and a second change.
std::optional<Config> first_two_that_fit(const Config& config, std::int64_t bytes) {
  for (const auto& kind : kKindsOfChanges) {
    const Changes changes = kind(config);
    if (changes.empty()) continue;
    const auto memory = [](const Config& changed) { return predicted_memory(changed).total(); };
    const auto most = std::ranges::min_element(changes, {}, memory);
    if (auto second = first_that_fits(*most, bytes)) return second;
  }
  return std::nullopt;
}

/// The settings of `to` that `from` has otherwise.
std::string difference_text(const Config& from, const Config& to) {
  std::vector<std::string> words;
  const auto add_change = [&](std::string_view setting, std::int64_t before, std::int64_t after) {
    if (before != after) words.push_back(fmt::format("{} {}", setting, after));
  };
  const ParallelConfig &a = from.parallel, &b = to.parallel;
  if (to.recompute.method != from.recompute.method)
    words.push_back("recompute_granularity full, recompute_method block");
  add_change("recompute_num_layers", from.recompute.num_layers, to.recompute.num_layers);
  add_change("pipeline_model_parallel_size", a.pipeline_model_parallel_size, b.pipeline_model_parallel_size);
  add_change("virtual_pipeline_model_parallel_size", a.virtual_pipeline_model_parallel_size,
             b.virtual_pipeline_model_parallel_size);
  add_change("tensor_model_parallel_size", a.tensor_model_parallel_size, b.tensor_model_parallel_size);
  if (b.sequence_parallel != a.sequence_parallel) words.push_back("sequence_parallel true");
  if (to.ddp.use_distributed_optimizer != from.ddp.use_distributed_optimizer)
    words.push_back("use_distributed_optimizer true");
  add_change("num_distributed_optimizer_instances", from.ddp.num_distributed_optimizer_instances,
             to.ddp.num_distributed_optimizer_instances);
  add_change("context_parallel_size", a.context_parallel_size, b.context_parallel_size);
  add_change("micro_batch_size", from.train.micro_batch_size, to.train.micro_batch_size);
  add_change("data_parallel_size", a.data_parallel_size, b.data_parallel_size);
  add_change("num_microbatches", from.train.num_microbatches, to.train.num_microbatches);
  const bool has_other_ranks = a.data_parallel_size != b.data_parallel_size;
  return fmt::format("{}{}", fmt::join(words, ", "),
                     has_other_ranks ? fmt::format(" on the same {} ranks", b.world_size()) : "");
}

/// The configuration with fewer layers, of which no more are recomputed together than a chunk has.
Config shortened(const Config& config, std::int64_t layers) {
  Config shorter = config;
  shorter.model.num_layers = layers;
  shorter.recompute.num_layers =
      std::min<std::int64_t>(config.recompute.num_layers, layers / config.parallel.num_chunks());
  return shorter;
}

std::string fewer_layers(const Config& config, std::int64_t bytes) {
  const std::optional<std::int64_t> layers = layers_that_fit(config, bytes);
  if (!layers)
    return is_even(config) ? "no smaller number of layers fits: use more ranks" : "use fewer layers, or more ranks";
  const std::int64_t recomputed = shortened(config, *layers).recompute.num_layers;
  if (recomputed < config.recompute.num_layers)
    return fmt::format("--layers {} with model.recompute_num_layers {} is predicted to fit", *layers, recomputed);
  return fmt::format("--layers {} is predicted to fit", *layers);
}

}  // namespace

std::optional<std::int64_t> layers_that_fit(const Config& config, std::int64_t bytes) {
  if (!is_even(config)) return std::nullopt;
  const std::int64_t unit = config.parallel.num_chunks();
  const auto fit = [&](std::int64_t layers_of_chunk) { return fits(shortened(config, layers_of_chunk * unit), bytes); };
  std::int64_t fitting = 0;  // layers of a chunk
  std::int64_t too_many = (config.model.num_layers + unit - 1) / unit;
  while (too_many - fitting > 1) {
    const std::int64_t middle = (fitting + too_many) / 2;
    (fit(middle) ? fitting : too_many) = middle;
  }
  if (fitting == 0) return std::nullopt;
  return fitting * unit;
}

std::string advice_on_memory(const Config& config, std::int64_t bytes) {
  if (const std::int64_t needed = predicted_memory(config).total(); needed <= bytes)
    return fmt::format(
        "predicted {:.1f} GB, without fragmentation and other programs: use recomputation, fewer layers, a smaller "
        "micro_batch_size, or more ranks",
        double(needed) / 1e9);
  std::optional<Config> changed = first_that_fits(config, bytes);
  if (!changed) changed = first_two_that_fit(config, bytes);
  if (!changed) return fewer_layers(config, bytes);
  return fmt::format("{} is predicted to fit, with {:.1f} GB", difference_text(config, *changed),
                     double(predicted_memory(*changed).total()) / 1e9);
}

}  // namespace underlap::plan
