// SPDX-License-Identifier: Apache-2.0
#include "bench/tune/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "impl/plan/layout/chunk_buckets.hpp"
#include "impl/plan/tensor_slots.hpp"
#include "impl/plan/userbuffers.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kTensor = "model.tensor_model_parallel_size";
constexpr const char* kPipeline = "model.pipeline_model_parallel_size";
constexpr const char* kVirtual = "model.virtual_pipeline_model_parallel_size";
constexpr const char* kContext = "model.context_parallel_size";
constexpr const char* kSequence = "model.sequence_parallel";
constexpr const char* kTensorOverlap = "comm_overlap.tp_comm_overlap";
constexpr const char* kMicroBatch = "train.micro_batch_size";
constexpr std::int64_t kMostSequencesOfAMicrobatch = 8;
constexpr std::int64_t kLeastTokensOfARank = 2048;  // of a sequence

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= number; ++d)
    if (number % d == 0) all.push_back(d);
  return all;
}

/// The sizes to try of something that cuts `what`; the one in effect where the file says it.
std::vector<std::int64_t> sizes(const TuneJob& job, const char* knob, std::int64_t in_effect,
                                std::vector<std::int64_t> all) {
  return job.is_open(knob) ? std::move(all) : std::vector<std::int64_t>{in_effect};
}

/// Lays out one cell of the file.
class Layouts {
 public:
  Layouts(const TuneJob& job, const std::string& cell, const plan::Config& config)
      : job_(job),
        cell_(cell),
        model_(config.model),
        parallel_(config.parallel),
        micro_(config.train.micro_batch_size) {}

  void append_to(std::vector<Choices>& all) const {
    const std::int64_t gpus = job_.num_gpus();
    for (const std::int64_t tp : sizes(job_, kTensor, parallel_.tensor_model_parallel_size, divisors(gpus)))
      for (const std::int64_t pp : sizes(job_, kPipeline, parallel_.pipeline_model_parallel_size, divisors(gpus)))
        for (const std::int64_t cp : sizes(job_, kContext, parallel_.context_parallel_size, divisors(gpus)))
          if (can_be(tp, pp, cp)) append_cuts(all, tp, pp, cp);
  }

 private:
  // Tensor parallelism stays in a node: across the network its collectives, two a layer and direction, are no choice.
  // Context parallelism leaves a rank tokens enough to compute on: the other kinds cut what is shorter with less
  // traffic.
  bool can_be(std::int64_t tp, std::int64_t pp, std::int64_t cp) const {
    return job_.num_gpus() % (tp * pp * cp) == 0 && tp <= job_.gpus_per_node() &&
           model_.num_attention_heads % tp == 0 && model_.num_layers % pp == 0 && model_.seq_length % (2 * cp) == 0 &&
           (cp == 1 || model_.seq_length / cp >= kLeastTokensOfARank);
  }

  void append_cuts(std::vector<Choices>& all, std::int64_t tp, std::int64_t pp, std::int64_t cp) const {
    const std::int64_t replicas = job_.num_gpus() / (tp * pp * cp);
    const std::int64_t layers = model_.num_layers / pp;
    const std::vector<std::int64_t> one{1};
    for (const std::int64_t vp :
         sizes(job_, kVirtual, parallel_.virtual_pipeline_model_parallel_size, pp == 1 ? one : divisors(layers)))
      for (const std::int64_t micro : sizes(job_, kMicroBatch, micro_, {1, 2, 4, kMostSequencesOfAMicrobatch}))
        if (layers % vp == 0 && job_.batch() % (replicas * micro) == 0) all.push_back(layout(tp, pp, vp, cp, micro));
  }

  // What the file says needs no word here.
  Choices layout(std::int64_t tp, std::int64_t pp, std::int64_t vp, std::int64_t cp, std::int64_t micro) const {
    Choices choices;
    const auto choose = [&](const char* knob, const std::string& value) {
      if (job_.is_open(knob)) choices[knob] = value;
    };
    if (job_.cells().size() > 1) choices[plan::kOneCell] = cell_;
    choose(kTensor, std::to_string(tp));
    choose(kPipeline, std::to_string(pp));
    choose(kVirtual, vp == 1 ? "" : std::to_string(vp));  // 1 is not the same: it runs the schedule of virtual stages
    choose(kContext, std::to_string(cp));
    choose(kSequence, tp > 1 ? "true" : "false");
    choose(kMicroBatch, std::to_string(micro));
    return choices;
  }

  const TuneJob& job_;
  const std::string& cell_;
  const plan::ModelConfig& model_;
  const plan::ParallelConfig& parallel_;
  std::int64_t micro_;
};

bool has_userbuffers(const plan::Config& config) {
  return std::ranges::any_of(config.tensor_overlap.slots,
                             [](const plan::TensorSlotOverlap& slot) { return plan::in_userbuffers(slot.method); });
}

void append_tensor_axes(std::vector<TuneAxis>& axes, const plan::Config& layout) {
  axes.push_back({kTensorOverlap, {"true", "false"}});
  std::vector<std::string> presets{""};
  for (const std::string_view name : plan::userbuffers_preset_names())
    if (const auto preset = plan::find_userbuffers_preset(name);
        preset && preset->hidden_size == layout.model.hidden_size &&
        preset->tp == layout.parallel.tensor_model_parallel_size &&
        plan::architecture_of(preset->arch) == plan::architecture_of(layout.environment.gpu_arch))
      presets.emplace_back(name);
  axes.push_back({"comm_overlap.tp_comm_overlap_cfg", std::move(presets)});
  const std::vector<std::string> rings{"", "{method: ring_exchange, aggregate: true}",
                                       "{method: ring_exchange, aggregate: false}"};
  const std::vector<std::string> bulks{"", "{method: bulk, num_sm: 2}", "{method: bulk, num_sm: 8}",
                                       "{method: bulk, num_sm: 24}"};
  const std::vector<std::string> scatters{"", "{method: ring_exchange}", "{method: pipeline, num_sm: 8, num_splits: 4}",
                                          "{method: pipeline, num_sm: 24, num_splits: 4, set_sm_margin: true}"};
  for (std::size_t i = 0; i < plan::kNumTensorSlots; ++i) {
    const plan::TensorSlotKind kind = plan::kind_of(static_cast<plan::TensorSlot>(i));
    const bool is_ring = kind == plan::TensorSlotKind::gather_gemm;
    axes.push_back({std::string(plan::kTensorSlotPaths[i]), is_ring                                      ? rings
                                                            : kind == plan::TensorSlotKind::gemm_scatter ? scatters
                                                                                                         : bulks});
  }
}

/// Round numbers that cut the weights which are cut, those of the first chunk, into two to some hundred buckets.
std::vector<std::string> bucket_sizes(const plan::Config& layout) {
  constexpr std::int64_t kMostBuckets = 100;
  std::int64_t elements = 0;
  const plan::TensorRank rank{layout.parallel.tensor_model_parallel_size, 0};
  for (const plan::Parameter& parameter : plan::chunk_parameters(layout, 0, 0, rank).all)
    elements += parameter.elements();
  std::vector<std::string> sizes{""};
  for (std::int64_t decade = 1; decade < elements; decade *= 10)
    for (const std::int64_t size : {decade, 2 * decade, 5 * decade})
      if (size < elements && size * kMostBuckets >= elements) sizes.push_back(std::to_string(size));
  return sizes;
}

void append_data_axes(std::vector<TuneAxis>& axes, const plan::Config& layout) {
  axes.push_back({"comm_overlap.overlap_grad_reduce", {"", "false"}});
  axes.push_back({"comm_overlap.overlap_param_gather", {"", "false"}});
  axes.push_back({"comm_overlap.bucket_size", bucket_sizes(layout)});
  axes.push_back({"ddp.average_in_collective", {"", "true"}});
  axes.push_back({"ddp.pad_buckets_for_high_nccl_busbw", {"", "true"}});
  if (layout.parallel.pipeline_model_parallel_size == 1) return;
  axes.push_back({"comm_overlap.align_param_gather", {"", "true", "false"}});
  axes.push_back({"ddp.align_grad_reduce", {"", "false"}});
  if (layout.parallel.virtual_pipeline_model_parallel_size > 1)
    axes.push_back({"comm_overlap.overlap_param_gather_with_optimizer_step", {"", "true"}});
}

void append_pipeline_axes(std::vector<TuneAxis>& axes, const plan::Config& layout) {
  const std::int64_t stages = layout.parallel.pipeline_model_parallel_size;
  axes.push_back({"comm_overlap.overlap_p2p_comm", {"", "false"}});
  axes.push_back({"comm_overlap.batch_p2p_comm", {"", "true", "false"}});
  if (layout.parallel.virtual_pipeline_model_parallel_size == 1) return;
  axes.push_back({"model.overlap_p2p_comm_warmup_flush", {"", "true"}});
  axes.push_back(
      {"model.microbatch_group_size_per_vp_stage", {"", std::to_string(stages + 1), std::to_string(2 * stages)}});
}

}  // namespace

std::vector<Choices> layouts_of(const TuneJob& job) {
  std::vector<Choices> all;
  for (const auto& [cell, config] : job.cells()) Layouts(job, cell, config).append_to(all);
  return all;
}

std::vector<Choices> recomputations(const TuneJob& job, const plan::Config& layout) {
  std::vector<Choices> all{{}};
  if (!job.is_open("model.recompute_granularity") || !job.is_open("model.recompute_method") ||
      !job.is_open("model.recompute_num_layers"))
    return all;
  const std::int64_t layers = layout.model.num_layers / layout.parallel.pipeline_model_parallel_size /
                              layout.parallel.virtual_pipeline_model_parallel_size;
  for (std::int64_t num = 1; num <= layers; ++num)
    all.push_back({{"model.recompute_granularity", "full"},
                   {"model.recompute_method", "block"},
                   {"model.recompute_num_layers", std::to_string(num)}});
  return all;
}

std::vector<TuneAxis> overlap_axes(const TuneJob& job, const plan::Config& layout) {
  std::vector<TuneAxis> axes;
  const plan::ParallelConfig& parallel = layout.parallel;
  if (parallel.sequence_parallel && (job.is_open(kTensorOverlap) || has_userbuffers(layout)))
    append_tensor_axes(axes, layout);
  if (parallel.data_parallel_size * parallel.context_parallel_size > 1) append_data_axes(axes, layout);
  if (parallel.pipeline_model_parallel_size > 1) append_pipeline_axes(axes, layout);
  if (parallel.context_parallel_size > 1) axes.push_back({"model.cp_comm_type", {"", "all_gather", "a2a"}});
  axes.push_back({"environment.layernorm_sm_margin", {"", "0", "8"}});
  axes.push_back({"environment.cuda_device_max_connections", {"", "1", "8", "32"}});
  std::erase_if(axes, [&](const TuneAxis& axis) { return !job.is_open(axis.knob) || axis.values.size() < 2; });
  return axes;
}

std::vector<OverlapSwitch> switches_on(const plan::Config& config) {
  std::vector<OverlapSwitch> on;
  const auto add = [&](bool is_on, std::string name, Choices off) {
    if (is_on) on.push_back({std::move(name), std::move(off)});
  };
  add(has_userbuffers(config), "tp_comm_overlap", {{kTensorOverlap, "false"}});
  add(config.ddp.overlap_grad_reduce, "overlap_grad_reduce", {{"comm_overlap.overlap_grad_reduce", "false"}});
  add(config.ddp.overlap_param_gather, "overlap_param_gather", {{"comm_overlap.overlap_param_gather", "false"}});
  add(config.pipeline.overlap_p2p_comm, "overlap_p2p_comm",
      {{"comm_overlap.overlap_p2p_comm", "false"}, {"model.overlap_p2p_comm_warmup_flush", ""}});
  add(config.parallel.context_parallel_size > 1 && config.extensions.cp_overlap, "cp_overlap",
      {{"extensions.cp_overlap", "false"}});
  return on;
}

}  // namespace underlap::bench
