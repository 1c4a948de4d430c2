// SPDX-License-Identifier: Apache-2.0
// The model's shape, and what must divide what.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/presets.hpp"
#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/schema/paths.hpp"
#include "platform/suggestion.hpp"

namespace underlap::plan {
namespace {

constexpr std::array<std::string_view, 5> kSizes = {
    "model.num_layers", "model.hidden_size", "model.num_attention_heads", "model.vocab_size", "model.seq_length"};

constexpr std::string_view kDp = "data_parallel_size";

void report_missing_sizes(Resolution& r) {
  std::vector<std::string_view> missing;
  for (const std::string_view size : kSizes)
    if (!r.settings.given(size) && !r.settings.invalid(size)) missing.push_back(size);
  if (missing.empty()) return;
  r.problems.add(r.settings.model_place,
                 fmt::format("the model has no preset, so these must be set too: {}; or set model.preset to one of {}",
                             fmt::join(missing, ", "), fmt::join(preset_names(), ", ")));
}

/// A size and the key or product it comes from.
struct Size {
  std::string_view path;
  std::int64_t value;
};

/// Sizes that could not be read are 0 and already reported.
void check_divides(Resolution& r, Size whole, Size part, std::string_view part_words) {
  if (whole.value <= 0 || part.value <= 0 || whole.value % part.value == 0) return;
  r.error({whole.path, part.path}, fmt::format("{} is {}, which is not divisible by {} ({}); make it a multiple of {}",
                                               whole.path, whole.value, part_words, part.value, part.value));
}

/// Features turn in pairs.
void check_rotary(Resolution& r) {
  constexpr std::string_view kPercent = "model.rotary_percent", kHead = "model.kv_channels";
  const ModelConfig& m = r.config().model;
  if (!m.is_rotary()) {
    for (const std::string_view path : {std::string_view("model.rotary_base"), kPercent})
      r.warn_no_effect(path, "position_embedding_type is not rotary");
    return;
  }
  if (m.num_attention_heads < 1) return;
  if (const std::int64_t turned = m.rotary_features(); turned < 2 || turned % 2 != 0)
    r.error({kPercent, kHead, "model.position_embedding_type", "model.num_attention_heads"},
            fmt::format("rope rotates {} of the {} features of a head, and rotates them in pairs; change {}", turned,
                        m.head_size(),
                        turned < m.head_size() ? kPercent
                        : m.kv_channels > 0    ? kHead
                                               : "model.num_attention_heads"));
}

void check_shape(Resolution& r) {
  const ModelConfig& m = r.config().model;
  const Size heads{"model.num_attention_heads", m.num_attention_heads};
  const Size groups{"model.num_query_groups", m.num_query_groups};
  if (m.kv_channels == 0) check_divides(r, {"model.hidden_size", m.hidden_size}, heads, "num_attention_heads");
  check_divides(r, heads, groups, "num_query_groups");
  check_rotary(r);
}

/// Where ranks share key and value heads, qkv's columns are cut evenly, whatever head they are of.
void check_shared_groups(Resolution& r) {
  const ModelConfig& m = r.config().model;
  const std::int64_t tp = r.config().parallel.tensor_model_parallel_size;
  const std::int64_t groups = m.num_query_groups;
  if (m.num_attention_heads < 1 || groups < 1 || groups >= tp || tp % groups != 0) return;
  const std::int64_t columns = (m.num_attention_heads + 2 * groups) * m.head_size();
  if (columns % tp != 0)
    r.error({"model.num_query_groups", kTp},
            fmt::format("{} columns of queries, keys and values are not divisible by tensor_model_parallel_size ({}); "
                        "change model.num_query_groups",
                        columns, tp));
}

void check_tp(Resolution& r) {
  const ModelConfig& m = r.config().model;
  const std::int64_t tp = r.config().parallel.tensor_model_parallel_size;
  const Size part{kTp, tp};
  if (tp < 2) return;
  check_divides(r, {"model.num_attention_heads", m.num_attention_heads}, part, "tensor_model_parallel_size");
  check_divides(r, {"model.ffn_hidden_size", m.ffn_hidden_size}, part, "tensor_model_parallel_size");
  check_divides(r, {"model.vocab_size", m.vocab_size}, part, "tensor_model_parallel_size");
  if (m.num_query_groups > 0 && tp % m.num_query_groups != 0)
    check_divides(r, {"model.num_query_groups", m.num_query_groups}, part, "tensor_model_parallel_size");
  check_shared_groups(r);
}

void check_sequence(Resolution& r) {
  const ParallelConfig& p = r.config().parallel;
  const Size sequence{"model.seq_length", r.config().model.seq_length};
  const std::int64_t cp = p.context_parallel_size;
  if (cp > 1) check_divides(r, sequence, {kCp, 2 * cp}, "2 * context_parallel_size");
  if (p.sequence_parallel && p.tensor_model_parallel_size > 1)
    check_divides(r, sequence, {kTp, cp * p.tensor_model_parallel_size},
                  "tensor_model_parallel_size * context_parallel_size");
}

void check_pipeline(Resolution& r) {
  const ParallelConfig& p = r.config().parallel;
  const std::int64_t pp = p.pipeline_model_parallel_size;
  const std::int64_t vpp = p.virtual_pipeline_model_parallel_size;
  if (pp == 1 || !has_uneven_layers(r))
    check_divides(r, {"model.num_layers", r.config().model.num_layers}, {vpp > 1 ? kVpp : kPp, pp * vpp},
                  "pipeline_model_parallel_size * virtual_pipeline_model_parallel_size");
  if (r.settings.given(kVpp) && pp == 1)
    r.error({kVpp},
            fmt::format("virtual_pipeline_model_parallel_size is {}, but pipeline_model_parallel_size is 1, and "
                        "Megatron Core needs at least 2 stages for virtual stages; leave it out, or set it to null",
                        vpp));
  else if (r.settings.given(kVpp) && vpp == 1) {
    r.config().parallel.interleaves_one_chunk = true;
    r.notice({kVpp},
             "virtual_pipeline_model_parallel_size 1 is not the same as null: Megatron Core runs its interleaved "
             "schedule with one chunk on each stage, which starts with twice as many forward passes as plain 1F1B, "
             "holds their activations, and exchanges once after each pair of passes; leave it out for plain 1F1B");
  }
}

void check_world(Resolution& r) {
  const ParallelConfig& p = r.config().parallel;
  std::int64_t world = 1;
  for (const ModeRules* mode : dense_modes()) world = std::min(world * mode->size(p), kMostRanks + 1);
  if (world > kMostRanks)
    r.error({kDp, kTp, kPp, kCp}, fmt::format("data * tensor * pipeline * context parallel sizes give more than {} "
                                              "ranks; lower one of them",
                                              kMostRanks));
}

/// Where one rank holds whole layers there is no sequence to split among more.
void resolve_sequence_parallel(Resolution& r) {
  constexpr std::string_view kPath = "model.sequence_parallel";
  ParallelConfig& p = r.config().parallel;
  if (!p.sequence_parallel || p.tensor_model_parallel_size > 1) return;
  p.sequence_parallel = false;
  r.decide(kPath, {false, "auto", fmt::format("{}; no effect: tensor_model_parallel_size is 1", r.set_at(kPath))});
  if (!r.settings.is_dump) r.notice({kPath}, fmt::format("{} has no effect: tensor_model_parallel_size is 1", kPath));
}

bool has_invalid_sizes(const Resolution& r) {
  for (const std::string_view path : {kTp, kPp, kCp, kDp})
    if (r.settings.invalid(path)) return true;
  return false;
}

}  // namespace

void resolve_model(Resolution& r) {
  constexpr std::string_view kPreset = "model.preset";
  if (r.settings.invalid(kPreset)) return;
  if (!r.settings.given(kPreset)) return report_missing_sizes(r);
  const std::string name = r.settings.text(kPreset, "");
  if (const ModelConfig* preset = find_preset(name)) {
    r.config().model = *preset;
    return;
  }
  const auto names = preset_names();
  r.error({kPreset}, fmt::format("unknown model preset {}; use one of {}{}", in_quotes(name), fmt::join(names, ", "),
                                 did_you_mean(name, names)));
}

// As Megatron Core's TransformerConfig fills what is left out.
void fill_sizes(Resolution& r) {
  ModelConfig& m = r.config().model;
  const auto fill = [&](std::string_view path, std::int64_t& size, std::int64_t value, const std::string& why) {
    if (size != 0 || value == 0 || r.settings.invalid(path)) return;
    size = value;
    r.decide(path, {value, "auto", why});
  };
  fill("model.num_query_groups", m.num_query_groups, m.num_attention_heads, "as many as num_attention_heads");
  fill("model.ffn_hidden_size", m.ffn_hidden_size, 4 * m.hidden_size, "four times hidden_size");
}

// Megatron is started with a number of ranks, and data parallelism is what the model leaves of them.
void resolve_world(Resolution& r) {
  constexpr std::string_view kWorld = "world_size";
  if (!r.settings.given(kWorld) || has_invalid_sizes(r)) return;
  ParallelConfig& p = r.config().parallel;
  const std::int64_t world = r.settings.integer(kWorld, 0);
  std::int64_t replica = 1;
  std::string of_replica;
  for (const ModeRules& mode : all_mode_rules()) {
    if (!mode.dense_digit || mode.takes_the_rest) continue;
    replica *= mode.size(p);
    of_replica += fmt::format("{}{} ({})", of_replica.empty() ? "" : " * ", mode.word, mode.size(p));
  }
  if (world % replica != 0)
    return r.error({kWorld},
                   fmt::format("{} is {}, which is not divisible by the {} parallel sizes; make it a multiple of {}",
                               kWorld, world, of_replica, replica));
  if (r.settings.given(kDp) && world != replica * p.data_parallel_size)
    return r.error({kWorld},
                   fmt::format("{} is {}, but {} * data ({}) parallel sizes make {} ranks; make them agree, "
                               "or leave {} out",
                               kWorld, world, of_replica, p.data_parallel_size, replica * p.data_parallel_size, kDp));
  if (r.settings.given(kDp)) return;
  p.data_parallel_size = static_cast<std::int32_t>(world / replica);
  r.decide(kDp, {p.data_parallel_size, "auto",
                 fmt::format("{} is {}, {} parallel sizes make {}", kWorld, world, of_replica, replica)});
}

void check_sizes(Resolution& r) {
  resolve_sequence_parallel(r);
  check_shape(r);
  check_tp(r);
  check_sequence(r);
  check_pipeline(r);
  check_world(r);
}

void resolve_batch(Resolution& r) {
  constexpr std::string_view kGlobal = "train.global_batch_size";
  constexpr std::string_view kMicrobatches = "train.num_microbatches";
  if (!r.settings.given(kGlobal)) return;
  TrainConfig& train = r.config().train;
  const std::int64_t global = r.settings.integer(kGlobal, 0);
  const std::int64_t per_microbatch = train.micro_batch_size * r.config().parallel.data_parallel_size;
  if (r.settings.given(kMicrobatches) && global != per_microbatch * train.num_microbatches)
    r.error({kGlobal}, fmt::format("{} is {}, but micro_batch_size * data_parallel_size * num_microbatches is {}; "
                                   "leave {} out",
                                   kGlobal, global, per_microbatch * train.num_microbatches, kMicrobatches));
  else if (!r.settings.given(kMicrobatches)) {
    check_divides(r, {kGlobal, global}, {kGlobal, per_microbatch}, "micro_batch_size * data_parallel_size");
    train.num_microbatches = std::max<std::int64_t>(1, global / per_microbatch);
    r.decide(kMicrobatches, {train.num_microbatches, "auto", "from train.global_batch_size"});
    const double most = rows()[row_index(kMicrobatches)].range.most;
    if (double(train.num_microbatches) > most)
      r.error({kGlobal}, fmt::format("{} is {}, which makes {} microbatches per step on each rank, more than the limit "
                                     "of {:g}; lower it, or raise train.micro_batch_size or data_parallel_size",
                                     kGlobal, global, train.num_microbatches, most));
  }
}

}  // namespace underlap::plan
