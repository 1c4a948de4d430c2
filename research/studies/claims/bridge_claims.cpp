// SPDX-License-Identifier: Apache-2.0
// How claims of Megatron-Bridge's skill card on data parallelism and on the launch are judged.
#include <fmt/format.h>

#include <algorithm>

#include "research/studies/claims/judge.hpp"

namespace underlap::bench {
namespace {

using S = const Subject&;

constexpr const char* kGrads = "comm_overlap.overlap_grad_reduce";
constexpr const char* kParams = "comm_overlap.overlap_param_gather";
constexpr const char* kBucketSize = "comm_overlap.bucket_size";
const std::vector<std::string> kPrecisionKnobs{"mixed_precision.grad_reduce_in_fp32",
                                               "mixed_precision.fp8_param_gather"};
const std::vector<std::string> kLaunchKnobs{"environment.cuda_device_max_connections",
                                            "environment.layernorm_sm_margin"};

std::optional<bool> are_defaults_chosen(S s) {
  const plan::Plan& plan = s.cell.plan;
  if (plan.config.parallel.data_parallel_size == 1) return std::nullopt;
  return is_chosen(plan, kGrads, true) && is_chosen(plan, kParams, true) && is_chosen(plan, kBucketSize, 134217728);
}

Subjects cells_in_buckets(const Evidence& evidence) {
  return where(every_cell(evidence),
               [](S s) { return !s.cell.plan.buckets.empty() && s.cell.plan.config.ddp.bucket_size.has_value(); });
}

const std::vector<std::int64_t>& bucket_elements(const ClaimCell& cell) { return cell.plan.buckets.front().elements; }

std::int64_t gradient_bytes(S s) { return s.cell.plan.config.ddp.grad_reduce_in_fp32 ? 4 : 2; }

// Buckets that were closed because they were full: all but the last, which ends with the model.
std::int64_t smallest_full_bucket(S s) {
  const std::vector<std::int64_t>& elements = bucket_elements(s.cell);
  return elements.size() < 2 ? elements.front() : *std::min_element(elements.begin(), elements.end() - 1);
}

std::optional<bool> counts_parameters(S s) {
  const ClaimCell* bf16 = partner_of(s.evidence, s.cell, kGradReduceInFp32, "false");
  if (bf16 == nullptr || bf16 == &s.cell || bf16->plan.buckets.empty()) return std::nullopt;
  return smallest_full_bucket(s) >= *s.cell.plan.config.ddp.bucket_size &&
         bucket_elements(s.cell) == bucket_elements(*bf16);
}

// Cases of knobs, which are about all cells.
Subjects once_each(const Evidence& evidence, const std::vector<std::string>& knobs) {
  return parted({every_cell(evidence).front()}, knobs);
}

Subjects cells_of_each_knob(const Evidence& evidence) {
  Subjects subjects;
  for (const std::string& knob : kPrecisionKnobs)
    for (const Subject& subject : parted(every_cell(evidence), {knob})) subjects.push_back(subject);
  return subjects;
}

std::optional<bool> is_of_mixed_precision(S s) {
  const bool follows_recipe = std::ranges::all_of(s.evidence.cells, [&](const ClaimCell& cell) {
    const plan::Knob& knob = knob_of(cell.plan, s.part);
    return knob.source == "auto" && knob.reason.starts_with("recipe ");
  });
  return follows_recipe && belongs_to(s.evidence, s.part, "mixed_precision");
}

Subjects cells_with_exposure(const Evidence& evidence) {
  return where(cells_with_steps(evidence), [](S s) { return s.cell.run->exposed_ms.has_value(); });
}

std::int32_t ranks_of(S s) { return s.cell.plan.config.parallel.data_parallel_size; }

// The step over that of the first cell with as many ranks.
double ratio_to_first(S s) {
  const Subjects all = cells_with_exposure(s.evidence);
  const auto first = std::ranges::find_if(all, [&](S other) { return ranks_of(other) == ranks_of(s); });
  return step_of(s.cell) / step_of(first->cell);
}

// What the settings do, in a sentence.
std::string effect_text(const Evidence& evidence, double noticeable) {
  std::vector<double> ratios;
  for (const Subject& subject : cells_with_exposure(evidence)) ratios.push_back(ratio_to_first(subject));
  if (ratios.empty()) return "";
  const auto [least, most] = std::ranges::minmax(ratios);
  if (most <= 1 + noticeable && least >= 1 - noticeable)
    return fmt::format("No setting changes the step by more than {:g} %.", 100 * noticeable);
  return fmt::format(
      "The settings change the step by {:+.1f} to {:+.1f} %, relative to the first row with the same number of ranks.",
      100 * (least - 1), 100 * (most - 1));
}

}  // namespace

std::vector<Judge> bridge_judges() {
  return {
      {.id = "defaults",
       .rows = every_cell,
       .columns = {cell_column(),
                   {{"overlap_grad_reduce"}, [](S s) { return effective_text(s, kGrads); }},
                   {{"overlap_param_gather"}, [](S s) { return effective_text(s, kParams); }},
                   {{"bucket_size"}, [](S s) { return effective_text(s, kBucketSize); }},
                   {{"why", Align::left}, [](S s) { return knob_of(s.cell.plan, kGrads).reason; }}},
       .holds = are_defaults_chosen},
      {.id = "bucket_unit",
       .rows = cells_in_buckets,
       .columns = {{{"bucket_size"}, [](S s) { return as_integer(*s.cell.plan.config.ddp.bucket_size); }},
                   {{"gradient bytes"}, [](S s) { return as_integer(gradient_bytes(s)); }},
                   {{"buckets"}, [](S s) { return fmt::format("{}", bucket_elements(s.cell).size()); }},
                   {{"smallest full bucket, parameters"}, [](S s) { return as_integer(smallest_full_bucket(s)); }},
                   {{"its MiB"},
                    [](S s) {
                      const auto bytes = static_cast<double>(smallest_full_bucket(s) * gradient_bytes(s));
                      return fmt::format("{:.0f}", bytes / (1 << 20));
                    }},
                   {{"reduce-scatters per step"},
                    [](S s) { return as_number(purpose_of(s.cell, "grad_reduce_scatter").count); }},
                   {{"wire GB per rank"},
                    [](S s) {
                      return fmt::format("{:.2f}", purpose_of(s.cell, "grad_reduce_scatter").bytes_on_wire / 1e9);
                    }}},
       .name = [](S s) { return fmt::format("bucket_size {}", *s.cell.plan.config.ddp.bucket_size); },
       .holds = counts_parameters},
      {.id = "precision_owner",
       .rows = cells_of_each_knob,
       .columns = {cell_column(),
                   part_column("knob"),
                   {{"effective"}, [](S s) { return effective_text(s, s.part); }},
                   {{"decided by"}, [](S s) { return knob_of(s.cell.plan, s.part).source; }},
                   {{"why", Align::left}, [](S s) { return knob_of(s.cell.plan, s.part).reason; }}},
       .cases = [](const Evidence& evidence) { return once_each(evidence, kPrecisionKnobs); },
       .name = [](S s) { return s.part; },
       .holds = is_of_mixed_precision},
      {.id = "launch_settings",
       .rows = cells_with_exposure,
       .columns = {{{"ranks"}, [](S s) { return as_integer(ranks_of(s)); }},
                   {{"LayerNorm SM margin"},
                    [](S s) { return as_integer(s.cell.plan.config.environment.layernorm_sm_margin); }},
                   {{"connections"},
                    [](S s) { return as_integer(s.cell.plan.config.environment.cuda_device_max_connections); }},
                   {{"step ms"}, [](S s) { return in_ms(step_of(s.cell)); }},
                   {{"relative to first"}, [](S s) { return as_ratio(ratio_to_first(s)); }},
                   {{"exposed ms"}, [](S s) { return in_ms(s.cell.run->exposed_ms->value); }},
                   {{"overlap %"}, [](S s) { return in_ms(s.cell.run->overlap_pct.value_or(0)); }}},
       .cases = [](const Evidence& evidence) { return once_each(evidence, kLaunchKnobs); },
       .name = [](S s) { return s.part; },
       .holds = [](S s) { return std::optional(belongs_to(s.evidence, s.part, "environment")); },
       .note = effect_text},
  };
}

}  // namespace underlap::bench
