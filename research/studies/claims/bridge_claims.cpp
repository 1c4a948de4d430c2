// SPDX-License-Identifier: Apache-2.0
// What Megatron-Bridge's skill card on communication overlap says of data parallelism and of the launch.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "research/studies/claims/claim.hpp"

namespace underlap::bench {
namespace {

// 8

bool is_chosen(const plan::Plan& plan, std::string_view knob, const plan::Value& value) {
  const plan::Knob& found = knob_of(plan, knob);
  return found.source == "auto" && found.effective == value;
}

Finding examine_defaults(const Evidence& evidence, double) {
  Finding finding{.found = {{{"cell", Align::left},
                             {"overlap_grad_reduce"},
                             {"overlap_param_gather"},
                             {"bucket_size"},
                             {"why", Align::left}},
                            {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const plan::Knob& grads = knob_of(cell.plan, "comm_overlap.overlap_grad_reduce");
    const auto value = [&](std::string_view knob) { return to_json_text(knob_of(cell.plan, knob).effective); };
    finding.found.rows.push_back({cell.name, to_json_text(grads.effective), value("comm_overlap.overlap_param_gather"),
                                  value("comm_overlap.bucket_size"), grads.reason});
    if (cell.plan.config.parallel.data_parallel_size == 1) continue;
    finding.cases.push_back({cell.name, is_chosen(cell.plan, "comm_overlap.overlap_grad_reduce", true) &&
                                            is_chosen(cell.plan, "comm_overlap.overlap_param_gather", true) &&
                                            is_chosen(cell.plan, "comm_overlap.bucket_size", 134217728)});
  }
  return finding;
}

// 9

// Buckets that were closed because they were full: all but the last, which ends with the model.
std::int64_t smallest_full_bucket(const plan::Plan& plan) {
  const std::vector<std::int64_t>& elements = plan.buckets.front().elements;
  return elements.size() < 2 ? elements.front() : *std::min_element(elements.begin(), elements.end() - 1);
}

Finding examine_bucket_unit(const Evidence& evidence, double) {
  Finding finding{.found = {{{"bucket_size"},
                             {"gradient bytes"},
                             {"buckets"},
                             {"smallest full bucket, parameters"},
                             {"its MiB"},
                             {"reduce-scatters a step"},
                             {"wire GB a rank"}},
                            {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const plan::DdpConfig& ddp = cell.plan.config.ddp;
    if (cell.plan.buckets.empty() || !ddp.bucket_size) continue;
    const std::int64_t width = ddp.grad_reduce_in_fp32 ? 4 : 2;
    const std::int64_t smallest = smallest_full_bucket(cell.plan);
    const report::PurposeSummary reduce = purpose_of(cell, "grad_reduce_scatter");
    finding.found.rows.push_back(
        {fmt::format("{}", *ddp.bucket_size), fmt::format("{}", width),
         fmt::format("{}", cell.plan.buckets.front().elements.size()), fmt::format("{}", smallest),
         fmt::format("{:.0f}", static_cast<double>(smallest * width) / (1 << 20)), fmt::format("{:g}", reduce.count),
         fmt::format("{:.2f}", reduce.bytes_on_wire / 1e9)});
    const ClaimCell* bf16 = partner_of(evidence, cell, kGradReduceInFp32, "false");
    if (bf16 == nullptr || bf16 == &cell || bf16->plan.buckets.empty()) continue;
    finding.cases.push_back(
        {fmt::format("bucket_size {}", *ddp.bucket_size),
         smallest >= *ddp.bucket_size && cell.plan.buckets.front().elements == bf16->plan.buckets.front().elements});
  }
  return finding;
}

// 10

Finding examine_precision_owner(const Evidence& evidence, double) {
  Finding finding{
      .found = {{{"cell", Align::left}, {"knob", Align::left}, {"effective"}, {"decided by"}, {"why", Align::left}},
                {}},
      .cases = {},
      .note = {}};
  for (const std::string_view path : {"mixed_precision.grad_reduce_in_fp32", "mixed_precision.fp8_param_gather"}) {
    bool follows_recipe = true;
    for (const ClaimCell& cell : evidence.cells) {
      const plan::Knob& knob = knob_of(cell.plan, path);
      finding.found.rows.push_back({cell.name, knob.name, to_json_text(knob.effective), knob.source, knob.reason});
      follows_recipe = follows_recipe && knob.source == "auto" && knob.reason.starts_with("recipe ");
    }
    finding.cases.push_back({std::string(path), follows_recipe && is_spelled_in(evidence, path, "mixed_precision") &&
                                                    !is_spelled_in(evidence, path, "comm_overlap")});
  }
  return finding;
}

// 11

// What the settings do, in a sentence; `ratios` of steps to those with the first settings.
std::string effect_text(const std::vector<double>& ratios, double noticeable) {
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  if (*most <= 1 + noticeable && *least >= 1 - noticeable)
    return fmt::format("No setting moves a step by {:g} % of it.", 100 * noticeable);
  return fmt::format("The settings move a step by {:+.1f} to {:+.1f} % of that of the first row with as many ranks.",
                     100 * (*least - 1), 100 * (*most - 1));
}

Finding examine_launch_settings(const Evidence& evidence, double noticeable) {
  Finding finding{.found = {{{"ranks"},
                             {"LayerNorm SM margin"},
                             {"connections"},
                             {"step ms"},
                             {"against the first"},
                             {"exposed ms"},
                             {"overlap %"}},
                            {}},
                  .cases = {},
                  .note = {}};
  std::map<std::int32_t, double> first;  // step, by ranks
  std::vector<double> ratios;
  for (const ClaimCell& cell : evidence.cells) {
    if (!cell.run || !cell.run->step_ms || !cell.run->exposed_ms) continue;
    const std::int32_t ranks = cell.plan.config.parallel.data_parallel_size;
    const double step = cell.run->step_ms->value;
    ratios.push_back(step / first.try_emplace(ranks, step).first->second);
    const plan::EnvironmentConfig& environment = cell.plan.config.environment;
    finding.found.rows.push_back({fmt::format("{}", ranks), fmt::format("{}", environment.layernorm_sm_margin),
                                  fmt::format("{}", environment.cuda_device_max_connections),
                                  fmt::format("{:.1f}", step), fmt::format("{:.3f}", ratios.back()),
                                  fmt::format("{:.1f}", cell.run->exposed_ms->value),
                                  fmt::format("{:.1f}", cell.run->overlap_pct.value_or(0))});
  }
  if (!ratios.empty()) finding.note = effect_text(ratios, noticeable);
  for (const std::string_view path : {"environment.cuda_device_max_connections", "environment.layernorm_sm_margin"})
    finding.cases.push_back({std::string(path), is_spelled_in(evidence, path, "environment") &&
                                                    !is_spelled_in(evidence, path, "comm_overlap")});
  return finding;
}

constexpr std::array<Claim, 4> kBridgeClaims{{
    {.id = "defaults",
     .document = Document::bridge_skill_card,
     .text = "Above one data-parallel rank both overlaps and a bucket_size of 128 * 1024 * 1024 are chosen by "
             "themselves",
     .runs = false,
     .rule = "above one rank the plan has both overlaps true and bucket_size 134217728, each decided by a rule",
     .examine = examine_defaults,
     .why = {.holds = "The rules need more than one rank and nothing else.",
             .holds_where = "The rules run with the distributed optimizer alone. Without it Megatron-Bridge skips them "
                            "without a word, and Megatron Core's defaults stand: no overlap.",
             .does_not_hold = "The plan chooses other values by itself.",
             .not_run = ""}},
    {.id = "bucket_unit",
     .document = Document::bridge_skill_card,
     .text = "bucket_size counts parameters, not bytes",
     .runs = true,
     .rule = "full buckets hold bucket_size parameters or more, and buckets of 4-byte and of 2-byte gradients are cut "
             "alike",
     .examine = examine_bucket_unit,
     .why = {.holds = "The cut does not depend on an element's width: the same bucket is twice as many bytes in fp32. "
                      "And bucket_size is the least that a full bucket holds, not the most: weights are not split.",
             .holds_where = "At some sizes the cut depends on the width of a gradient.",
             .does_not_hold = "The cut depends on the width of a gradient, so bytes are counted.",
             .not_run = ""}},
    {.id = "precision_owner",
     .document = Document::bridge_skill_card,
     .text = "grad_reduce_in_fp32 and fp8_param_gather belong to mixed precision",
     .runs = false,
     .rule = "the knob stands under mixed_precision and not under comm_overlap, and without a request every recipe "
             "decides it",
     .examine = examine_precision_owner,
     .why = {.holds = "Both follow the recipe, and none is a field of comm_overlap. ddp has fields of the same names: "
                      "the same knobs, which mixed precision overwrites in Megatron-Bridge; here two values that "
                      "differ are an error.",
             .holds_where = "One of the two is decided elsewhere.",
             .does_not_hold = "Both are decided elsewhere.",
             .not_run = ""}},
    {.id = "launch_settings",
     .document = Document::bridge_skill_card,
     .text = "CUDA_DEVICE_MAX_CONNECTIONS and the LayerNorm SM margin are settings of the launch and not fields of "
             "CommOverlapConfig",
     .runs = true,
     .rule = "the setting stands under environment and not under comm_overlap",
     .examine = examine_launch_settings,
     .why = {.holds = "Both are read when a process starts, so no field that a program sets later reaches them. The "
                      "table shows what they do to a step whose collectives run beside its norms: a norm kernel that "
                      "wants every multiprocessor waits for the collective that holds some, unless a margin leaves it "
                      "those; and with one connection all streams share one queue to the device, in the order of the "
                      "launches.",
             .holds_where = "One of the two is a field of comm_overlap.",
             .does_not_hold = "Both are fields of comm_overlap.",
             .not_run = ""}},
}};

}  // namespace

std::span<const Claim> bridge_claims() { return kBridgeClaims; }

}  // namespace underlap::bench
