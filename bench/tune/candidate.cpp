// SPDX-License-Identifier: Apache-2.0
#include "bench/tune/candidate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impl/plan/modes/mode_rules.hpp"

namespace underlap::bench {
namespace {

std::string cell_of(const Candidate& candidate) {
  const auto cell = candidate.choices.find(plan::kOneCell);
  return cell == candidate.choices.end() ? "" : cell->second;
}

std::int64_t recomputed_layers_of_stage(const plan::Config& config) {
  const bool is_of_chunk = config.recompute.method == plan::RecomputeMethod::block;
  return config.recompute.num_layers * (is_of_chunk ? config.parallel.chunks_of_stage() : 1);
}

}  // namespace

Choices merged(Choices base, const Choices& over) {
  for (const auto& [knob, value] : over) base[knob] = value;
  return base;
}

bool is_shorter(const Candidate& a, const Candidate& b) {
  return a.step_ns != b.step_ns ? a.step_ns < b.step_ns : text_of(a.choices) < text_of(b.choices);
}

std::string effect_of(const plan::Plan& plan) {
  std::string text;
  for (const plan::Knob& knob : plan.knobs) text += knob.name + '=' + plan::to_json_text(knob.effective) + ' ';
  return text;
}

bool is_valid(const plan::Plan& plan) { return plan.errors.empty() && plan.not_run.empty(); }

const std::string& refusal_of(const plan::Plan& plan) {
  return (plan.errors.empty() ? plan.not_run : plan.errors).front().message;
}

std::string within_stage(const Candidate& candidate) {
  std::string text = cell_of(candidate);
  for (const plan::Shared what :
       {plan::Shared::weights, plan::Shared::tables, plan::Shared::heads, plan::Shared::tokens})
    text += fmt::format(" {}", plan::ranks_sharing(what, candidate.plan.config.parallel));
  return fmt::format("{} {}", text, candidate.plan.config.train.micro_batch_size);
}

std::string stages_of(const Candidate& candidate) {
  const plan::Config& config = candidate.plan.config;
  std::string text = cell_of(candidate);
  for (const plan::ModeRules& mode : plan::all_mode_rules())
    if (!mode.takes_the_rest) text += fmt::format(" {}", mode.size(config.parallel));
  return fmt::format("{} {} {}", text, config.train.micro_batch_size, recomputed_layers_of_stage(config));
}

std::string compute_of(const Candidate& candidate) {
  return fmt::format("{} {}", stages_of(candidate), fmt::join(candidate.plan.config.parallel.layers_of_stages(), ","));
}

std::string size_of(const Candidate& candidate) {
  return fmt::format("{} {}", cell_of(candidate),
                     plan::ranks_sharing(plan::Shared::weights, candidate.plan.config.parallel));
}

std::string kind_of(const Candidate& candidate) {
  const plan::ParallelConfig& parallel = candidate.plan.config.parallel;
  std::string text = size_of(candidate);
  for (const auto& [mode, size] : plan::all_sizes())
    text += fmt::format(" {}", plan::size_of(parallel, *mode, *size) > 1);
  return text;
}

std::string shape_of(const Candidate& candidate) {
  const plan::Config& config = candidate.plan.config;
  return fmt::format("{} {}", size_of(candidate),
                     config.train.micro_batch_size * config.model.seq_length /
                         plan::ranks_sharing(plan::Shared::tokens, config.parallel));
}

bool is_of_tensor_overlap(const std::string& knob) { return knob.starts_with("comm_overlap.tp_comm_overlap"); }

}  // namespace underlap::bench
