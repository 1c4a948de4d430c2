// SPDX-License-Identifier: Apache-2.0
#include "bench/tune/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "bench/measure/run_folder.hpp"
#include "impl/device/sim/machine.hpp"
#include "impl/plan/modes/mode_rules.hpp"

namespace underlap::bench {
namespace {

constexpr std::int64_t kUsualSequencesOfAGpu = 2;

// Settings that a job around a configuration searches: layout, batch split and overlap. The model, its precision, the
// optimizer and the machine are fixed.
bool is_searched(std::string_view knob) {
  constexpr std::array<std::string_view, 11> kLayout{"model.sequence_parallel",
                                                     "model.recompute_granularity",
                                                     "model.recompute_method",
                                                     "model.recompute_num_layers",
                                                     "model.account_for_embedding_in_pipeline_split",
                                                     "model.account_for_loss_in_pipeline_split",
                                                     "model.num_layers_in_first_pipeline_stage",
                                                     "model.num_layers_in_last_pipeline_stage",
                                                     "model.pipeline_model_parallel_layout",
                                                     "train.micro_batch_size",
                                                     "train.num_microbatches"};
  const bool is_size =
      std::ranges::any_of(plan::all_sizes(), [&](const auto& each) { return each.second->knob == knob; });
  return is_size || std::ranges::find(kLayout, knob) != kLayout.end() || knob.starts_with("comm_overlap.") ||
         knob == "model.cp_comm_type" || knob == "model.overlap_p2p_comm_warmup_flush" ||
         knob == "model.microbatch_group_size_per_vp_stage" || knob == "environment.layernorm_sm_margin" ||
         knob == "environment.cuda_device_max_connections";
}

// Whether a knob changes what is computed: the model, a precision or the optimizer.
bool is_of_mathematics(std::string_view knob) {
  constexpr std::array<std::string_view, 16> kArchitecture{"model.num_layers",
                                                           "model.hidden_size",
                                                           "model.ffn_hidden_size",
                                                           "model.num_attention_heads",
                                                           "model.num_query_groups",
                                                           "model.kv_channels",
                                                           "model.vocab_size",
                                                           "model.seq_length",
                                                           "model.activation",
                                                           "model.normalization",
                                                           "model.window_size",
                                                           "model.num_moe_experts",
                                                           "model.moe_router_topk",
                                                           "model.moe_ffn_hidden_size",
                                                           "model.share_embeddings_and_output_weights",
                                                           "ddp.reduce_scatter_with_fp32_accumulation"};
  return std::ranges::find(kArchitecture, knob) != kArchitecture.end() || knob.starts_with("mixed_precision.") ||
         knob.starts_with("optimizer.");
}

// The values of those knobs, which determine what a cell computes.
std::map<std::string, std::string> mathematics_of(const plan::Plan& plan) {
  std::map<std::string, std::string> values;
  for (const plan::Knob& knob : plan.knobs)
    if (is_of_mathematics(knob.name)) values[knob.name] = plan::to_json_text(knob.effective);
  return values;
}

// Sizes that follow from the request and override the file.
bool follows(std::string_view knob) {
  return knob == "world_size" || knob == "data_parallel_size" || knob == "train.global_batch_size" ||
         knob == "train.num_microbatches";
}

}  // namespace

std::string text_of(const Choices& choices) {
  std::string text;
  for (const auto& [knob, value] : choices) text += fmt::format("{}{}={}", text.empty() ? "" : " ", knob, value);
  return text;
}

TuneJob::TuneJob(const TuneRequest& request) : model_(request.model), num_gpus_(request.num_gpus) {
  if (num_gpus_ < 1) throw std::invalid_argument("--gpus must be at least 1");
  model_.overrides.emplace_back("run.backend", "sim");
  read_cells(request);
  const plan::Config& any = cells_.begin()->second;
  hardware_ = any.run.hardware;
  machine_ = sim::hardware_words(any.run);
  gpus_per_node_ = sim::make_time_model(any, hardware_of(any))->gpus_per_node();
  limit_bytes_ = request.limit_bytes.value_or(sim::plannable_memory_bytes(any));
  set_batch(request.batch);
}

void TuneJob::read_cells(const TuneRequest& request) {
  const plan::Matrix matrix = plan::parse(model_.yaml, model_.where, model_.overrides);
  if (matrix.has_errors()) throw std::invalid_argument(joined_lines(matrix.errors));
  input_hashes_ = hash_inputs(matrix);
  const plan::Plan* first = nullptr;
  std::vector<std::string> left_out;
  for (const plan::Cell& cell : matrix.cells) {
    const bool computes_otherwise =
        cell.plan.config.run.no_comm || (first != nullptr && mathematics_of(cell.plan) != mathematics_of(*first));
    if (computes_otherwise && !request.all_cells) {
      left_out.push_back(cell.name);
      continue;
    }
    if (first == nullptr) first = &cell.plan;
    cells_[cell.name] = cell.plan.config;
    const plan::RunConfig& run = cell.plan.config.run;
    machines_.try_emplace(sim::hardware_words(run), sim::hardware_of(run));
    for (const plan::Knob& knob : cell.plan.knobs) {
      if (plan::is_null(knob.requested) || follows(knob.name)) continue;
      if (request.around && is_searched(knob.name))
        start_[knob.name] = plan::to_json_text(knob.requested);
      else
        kept_.insert(knob.name);
    }
  }
  if (cells_.empty())
    throw std::invalid_argument(
        fmt::format("{}: no cell has transfers to overlap\n  --all-cells searches its cells anyway", model_.where));
  if (!left_out.empty())
    notes_.push_back(
        fmt::format("left out, since a faster step there would not make training faster: {} (without transfers, or "
                    "with another model, precision or optimizer); --all-cells searches them too",
                    fmt::join(left_out, ", ")));
  if (request.around && cells_.size() > 1)
    throw std::invalid_argument(fmt::format(
        "{}: --around needs one configuration, but this has a matrix of {} cells; choose one with --cell NAME",
        model_.where, cells_.size()));
}

void TuneJob::set_batch(const std::optional<std::int64_t>& batch) {
  if (batch) {
    batch_ = *batch;
    return;
  }
  for (const auto& [name, config] : cells_)
    batch_ = std::max(
        batch_, config.train.micro_batch_size * config.train.num_microbatches * config.parallel.data_parallel_size);
  if (batch_ > 1) return;
  batch_ = kUsualSequencesOfAGpu * num_gpus_;
  notes_.push_back(fmt::format("a step has {} sequences, two per GPU: change this with --batch", batch_));
}

TuneJob TuneJob::with_gpus(std::int64_t num_gpus) const {
  TuneJob job = *this;
  job.num_gpus_ = num_gpus;
  return job;
}

const sim::Hardware& TuneJob::hardware_of(const plan::Config& config) const {
  return machines_.at(sim::hardware_words(config.run));
}

plan::Plan TuneJob::plan(const Choices& choices) const {
  std::vector<plan::Override> overrides = model_.overrides;
  for (const char* knob : {"data_parallel_size", "train.num_microbatches"}) overrides.emplace_back(knob, "");
  overrides.emplace_back("world_size", std::to_string(num_gpus_));
  overrides.emplace_back("train.global_batch_size", std::to_string(batch_));
  for (const auto& [knob, value] : start_)
    if (!choices.contains(knob)) overrides.emplace_back(knob, "");
  for (const auto& [knob, value] : choices) overrides.emplace_back(knob, value);
  plan::Matrix matrix = plan::parse(model_.yaml, model_.where, overrides);
  return std::move(matrix.cells.front().plan);
}

std::string TuneJob::fingerprint() const {
  std::string text = fmt::format("{}\n{} {} {} {}\n", model_.yaml, num_gpus_, batch_, limit_bytes_, hardware_);
  for (const auto& [file, hash] : input_hashes_) text += fmt::format("{} {}\n", file, hash);
  for (const auto& [path, value] : model_.overrides) text += fmt::format("{}={}\n", path, value);
  return text;
}

}  // namespace underlap::bench
