// SPDX-License-Identifier: Apache-2.0
// What both documents say of tensor-parallel overlap.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "impl/plan/tensor_slots.hpp"
#include "research/studies/claims/claim.hpp"

namespace underlap::bench {
namespace {

using plan::TensorMethod;
using plan::TensorSlot;
using plan::TensorSlotKind;

const std::string kOverlap = "comm_overlap.tp_comm_overlap";

std::string us(double ms) { return fmt::format("{:.0f}", 1000 * ms); }
std::string number(double value) { return fmt::format("{:g}", value); }

bool overlaps(const ClaimCell& cell) { return knob_of(cell.plan, kOverlap).effective == plan::Value(true); }

std::vector<TensorSlot> slots_of(std::initializer_list<TensorSlotKind> kinds) {
  std::vector<TensorSlot> slots;
  for (std::size_t i = 0; i < plan::kNumTensorSlots; ++i) {
    const auto slot = static_cast<TensorSlot>(i);
    if (std::find(kinds.begin(), kinds.end(), plan::kind_of(slot)) != kinds.end()) slots.push_back(slot);
  }
  return slots;
}

std::vector<TensorSlot> all_slots() {
  return slots_of({TensorSlotKind::gather_gemm, TensorSlotKind::gemm_scatter, TensorSlotKind::column_dgrad,
                   TensorSlotKind::column_wgrad});
}

report::PurposeSummary summary_of(const ClaimCell& cell, TensorSlot slot, std::string_view what) {
  return purpose_of(cell, fmt::format("{}_{}", plan::kTensorSlotNames[slot], what));
}

double count_of(const ClaimCell& cell, TensorSlot slot, std::string_view what) {
  return summary_of(cell, slot, what).count;
}

// The collective that a slot has as long as nothing takes it apart.
std::string_view collective_of(TensorSlot slot) {
  const TensorSlotKind kind = plan::kind_of(slot);
  const bool reduces = kind == TensorSlotKind::gemm_scatter || kind == TensorSlotKind::column_wgrad;
  return reduces ? "reduce_scatter" : "all_gather";
}

std::string method_of(const ClaimCell& cell, TensorSlot slot) {
  return std::string(plan::kTensorMethodNames[cell.plan.config.tensor_overlap[slot].method]);
}

std::string case_name(const ClaimCell& cell, TensorSlot slot) {
  return fmt::format("{} of {}", plan::kTensorSlotNames[slot], cell.name);
}

// 1

Finding examine_tensor_collectives(const Evidence& evidence, double) {
  Finding finding{.found = {{{"cell", Align::left},
                             {"slot", Align::left},
                             {"all-gathers a step"},
                             {"reduce-scatters a step"},
                             {"all-reduces a step"}},
                            {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    if (!cell.run) continue;
    bool holds = true;
    for (const TensorSlot slot : all_slots()) {
      const auto count = [&](std::string_view what) { return count_of(cell, slot, what); };
      finding.found.rows.push_back({cell.name, name_of_slot(slot), number(count("all_gather")),
                                    number(count("reduce_scatter")), number(count("all_reduce"))});
      holds = holds && count(collective_of(slot)) > 0 && count("all_reduce") == 0;
    }
    finding.cases.push_back({cell.name, holds});
  }
  return finding;
}

// 2

Finding examine_bulk(const Evidence& evidence, double noticeable) {
  Finding finding{.found = {{{"cell", Align::left},
                             {"slot", Align::left},
                             {"method", Align::left},
                             {"collective", Align::left},
                             {"comm us"},
                             {"exposed us"}},
                            {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    if (!cell.run) continue;
    for (const TensorSlot slot : slots_of({TensorSlotKind::column_dgrad, TensorSlotKind::column_wgrad})) {
      const report::PurposeSummary of = summary_of(cell, slot, collective_of(slot));
      finding.found.rows.push_back({cell.name, name_of_slot(slot), method_of(cell, slot),
                                    std::string(collective_of(slot)), us(of.comm_ms), us(of.exposed_ms)});
      if (!overlaps(cell)) continue;
      const bool is_bulk = cell.plan.config.tensor_overlap[slot].method == TensorMethod::bulk;
      finding.cases.push_back({case_name(cell, slot), is_bulk && of.exposed_ms < (1 - noticeable) * of.comm_ms});
    }
  }
  return finding;
}

// 3 and 4

// Slots whose GEMM needs its collective, or makes what it reduces: whether the steps of a ring took its place.
Finding examine_replaced(const Evidence& evidence, TensorSlotKind kind) {
  const bool reduces = kind == TensorSlotKind::gemm_scatter;
  Finding finding{.found = {{{"cell", Align::left},
                             {"slot", Align::left},
                             {"method", Align::left},
                             {reduces ? "reduce-scatters a step" : "all-gathers a step"},
                             {"hops a step"}},
                            {}},
                  .cases = {},
                  .note = {}};
  if (reduces) finding.found.columns.push_back({"a sum"});
  for (const ClaimCell& cell : evidence.cells) {
    if (!cell.run) continue;
    for (const TensorSlot slot : slots_of({kind})) {
      const double whole = count_of(cell, slot, collective_of(slot)), hops = count_of(cell, slot, "ring_hop");
      const bool sums = cell.computed.count(name_of_slot(slot) + "_ring_sum") > 0;
      auto& row = finding.found.rows.emplace_back();
      row = {cell.name, name_of_slot(slot), method_of(cell, slot), number(whole), number(hops)};
      if (reduces) row.push_back({sums ? "yes" : "no"});
      if (overlaps(cell)) finding.cases.push_back({case_name(cell, slot), whole == 0 && hops > 0 && sums == reduces});
    }
  }
  return finding;
}

Finding examine_ring_gather(const Evidence& evidence, double) {
  return examine_replaced(evidence, TensorSlotKind::gather_gemm);
}

Finding examine_ring_scatter(const Evidence& evidence, double) {
  return examine_replaced(evidence, TensorSlotKind::gemm_scatter);
}

// 5

Finding examine_exposed_chunk(const Evidence& evidence, double noticeable) {
  Finding finding{.found = {{{"cell", Align::left},
                             {"slot", Align::left},
                             {"chunks"},
                             {"exposed us"},
                             {"the last chunk us"},
                             {"beyond it us"},
                             {"beyond it, % of the step"}},
                            {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    if (!cell.run || !cell.run->step_ms) continue;
    for (const TensorSlot slot : slots_of({TensorSlotKind::gemm_scatter})) {
      if (cell.plan.config.tensor_overlap[slot].method != TensorMethod::pipeline) continue;
      std::int64_t chunks = 0;
      double exposed = 0, last = 0;
      for (const Chunk& chunk : cell.chunks) {
        if (chunk.purpose != name_of_slot(slot) + "_reduce_scatter") continue;
        ++chunks;
        exposed += chunk.exposed_ms;
        last = chunk.time_ms;
      }
      const double beyond = std::max(0.0, exposed - last);
      const double share = beyond / cell.run->step_ms->value;
      finding.found.rows.push_back({cell.name, name_of_slot(slot), fmt::format("{}", chunks), us(exposed), us(last),
                                    us(beyond), fmt::format("{:.2f}", 100 * share)});
      finding.cases.push_back({case_name(cell, slot), chunks > 0 && share <= noticeable});
    }
  }
  return finding;
}

// 6

Finding examine_gates(const Evidence& evidence, double) {
  Finding finding{
      .found = {{{"cell", Align::left}, {"requested"}, {"effective"}, {"decided by"}, {"why", Align::left}}, {}},
      .cases = {},
      .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const plan::Knob& knob = knob_of(cell.plan, kOverlap);
    const std::string why = knob.source == "gate" ? knob.reason : "as it was asked for";  // and not in which file
    finding.found.rows.push_back(
        {cell.name, to_json_text(knob.requested), to_json_text(knob.effective), knob.source, why});
    const plan::ParallelConfig& p = cell.plan.config.parallel;
    const bool may = p.tensor_model_parallel_size >= 2 && p.sequence_parallel;
    finding.cases.push_back(
        {cell.name, cell.plan.errors.empty() && knob.effective == plan::Value(may) && (knob.source == "gate") == !may});
  }
  return finding;
}

// 7

Finding examine_own_settings(const Evidence& evidence, double) {
  Finding finding{
      .found = {{{"cell", Align::left}, {"slot", Align::left}, {"effective", Align::left}, {"decided by"}}, {}},
      .cases = {},
      .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const bool is_given = knob_of(cell.plan, "comm_overlap.tp_comm_overlap_cfg").requested != plan::Value();
    for (const TensorSlot slot : all_slots()) {
      const plan::Knob& knob = knob_of(cell.plan, plan::kTensorSlotPaths[static_cast<std::size_t>(slot)]);
      finding.found.rows.push_back({cell.name, name_of_slot(slot), to_json_text(knob.effective), knob.source});
      if (is_given) continue;
      const bool is_own = cell.plan.config.tensor_overlap[slot] == plan::transformer_engine_default(slot);
      finding.cases.push_back({case_name(cell, slot), is_own && knob.source == "auto"});
    }
  }
  return finding;
}

// 8

// The cell of the same shape without overlap.
const ClaimCell* off_cell_of(const Evidence& evidence, const ClaimCell& cell) {
  const auto found = std::find_if(evidence.cells.begin(), evidence.cells.end(), [&](const ClaimCell& other) {
    return !overlaps(other) && other.plan.config.model.seq_length == cell.plan.config.model.seq_length;
  });
  return found == evidence.cells.end() ? nullptr : &*found;
}

Finding examine_speedup(const Evidence& evidence, double noticeable) {
  Finding finding{.found = {{{"cell", Align::left}, {"step ms"}, {"step / off"}, {"comm ms"}, {"exposed ms"}}, {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const ClaimCell* off = off_cell_of(evidence, cell);
    if (off == nullptr || !cell.run || !cell.run->step_ms || !off->run || !off->run->step_ms) continue;
    const double ratio = cell.run->step_ms->value / off->run->step_ms->value;
    const auto text = [](const std::optional<report::Estimate>& of) {
      return of ? fmt::format("{:.2f}", of->value) : "-";
    };
    finding.found.rows.push_back({cell.name, text(cell.run->step_ms), fmt::format("{:.3f}", ratio),
                                  text(cell.run->comm_ms), text(cell.run->exposed_ms)});
    if (overlaps(cell)) finding.cases.push_back({cell.name, ratio <= 1 - noticeable});
  }
  return finding;
}

constexpr std::array<Claim, 8> kTensorClaims{{
    {.id = "tp_collectives",
     .document = Document::nemo_user_guide,
     .text = "Tensor parallelism with sequence parallelism brings all-gathers and reduce-scatters of activations",
     .runs = true,
     .rule = "each GEMM that a method is chosen for has its all-gather or its reduce-scatter, and none an all-reduce",
     .examine = examine_tensor_collectives,
     .why = {.holds = "Between layers each rank holds its part of the sequence, so a column-parallel layer gathers its "
                      "input, forward and again for the gradient of its weight, and a row-parallel layer reduces and "
                      "scatters its output; the backward pass has the mirror images.",
             .holds_where = "In some cells a GEMM lacks its collective or an all-reduce remains.",
             .does_not_hold = "In every cell a GEMM lacks its collective or an all-reduce remains.",
             .not_run = ""}},
    {.id = "tp_bulk",
     .document = Document::nemo_user_guide,
     .text = "Tensor-parallel communication on which no GEMM beside it depends runs in bulk under one, by default",
     .runs = true,
     .rule = "with tp_comm_overlap the gathers beside dgrad and the reduce-scatters beside wgrad are bulk, and each "
             "hides more than the noticeable share of itself",
     .examine = examine_bulk,
     .why = {.holds = "It is the default once tp_comm_overlap is on, which by default it is not. Without it these "
                      "four are NCCL's and asynchronous, so they may hide as well: what bulk changes is how many "
                      "multiprocessors they hold.",
             .holds_where = "Some of the four run in another way or hide nothing.",
             .does_not_hold = "None of the four runs in bulk and hides.",
             .not_run = ""}},
    {.id = "tp_ring_gather",
     .document = Document::nemo_user_guide,
     .text = "Where a GEMM depends on it, the all-gather is replaced by steps of a ring exchange",
     .runs = true,
     .rule = "with tp_comm_overlap a GEMM that needs what is gathered has hops of a ring and no all-gather",
     .examine = examine_ring_gather,
     .why = {.holds = "Each hop brings one rank's part while the part before it is multiplied: a hop less than ranks.",
             .holds_where = "Some of these GEMMs keep their all-gather.",
             .does_not_hold = "All of these GEMMs keep their all-gather.",
             .not_run = ""}},
    {.id = "tp_ring_scatter",
     .document = Document::nemo_user_guide,
     .text = "Where it depends on a GEMM, the reduce-scatter is replaced by steps of exchanges followed by a sum",
     .runs = true,
     .rule = "with tp_comm_overlap a GEMM whose output is reduced has exchanges, a local sum and no reduce-scatter",
     .examine = examine_ring_scatter,
     .why = {.holds = "Each exchange sends a rank its rows while the next rank's are multiplied; a local sum ends it.",
             .holds_where = "It is so where the slot's method is ring_exchange. Transformer Engine's own setting is "
                            "the pipeline: reduce-scatters in chunks, and no sum of ours.",
             .does_not_hold = "Every reduced GEMM keeps its reduce-scatters, whole or in chunks.",
             .not_run = ""}},
    {.id = "tp_exposed_chunk",
     .document = Document::nemo_user_guide,
     .text = "The pipelined reduce-scatter in chunks exposes one chunk",
     .runs = true,
     .rule = "what a slot exposes beyond the time of its last chunk is at most the noticeable share of the step",
     .examine = examine_exposed_chunk,
     .why = {.holds = "Nothing of the slot is left to compute under its last chunk, and every other chunk is short "
                      "enough for the GEMM of the next. The copies of the chunks to their columns come on top.",
             .holds_where = "More is exposed where a chunk takes longer than the GEMM of the next.",
             .does_not_hold = "In every cell a chunk takes longer than the GEMM of the next.",
             .not_run = ""}},
    {.id = "tp_gates",
     .document = Document::bridge_skill_card,
     .text = "tp_comm_overlap needs two tensor-parallel ranks or more and sequence_parallel, and is switched off "
             "otherwise without an error",
     .runs = false,
     .rule = "the plan has no error, and tp_comm_overlap is in effect where both are so and closed by a gate elsewhere",
     .examine = examine_gates,
     .why = {.holds = "The first gate that is closed decides, and says why. Without sequence parallelism there are "
                      "all-reduces, which userbuffers do not carry.",
             .holds_where = "Some cells keep what was asked for, or end in an error.",
             .does_not_hold = "No cell follows the two conditions.",
             .not_run = ""}},
    {.id = "tp_own_settings",
     .document = Document::bridge_skill_card,
     .text = "Without tp_comm_overlap_cfg Transformer Engine's own settings stand",
     .runs = false,
     .rule = "without it each slot has what Transformer Engine sets up by itself, decided by no user",
     .examine = examine_own_settings,
     .why = {.holds = "A configuration is laid over these settings field by field; without one nothing covers them.",
             .holds_where = "Some slots have other settings.",
             .does_not_hold = "Every slot has other settings.",
             .not_run = ""}},
    {.id = "tp_speedup",
     .document = Document::nemo_user_guide,
     .text = "Tensor-parallel overlap makes the step of a layer faster",
     .runs = true,
     .rule = "the step with overlap is shorter than without by the noticeable share or more; without, collectives are "
             "NCCL's, and asynchronous in the backward pass",
     .examine = examine_speedup,
     .why = {.holds = "What is hidden outweighs smaller GEMMs, copies and multiprocessors lent to communication.",
             .holds_where = "Overlap hides more, and it costs: GEMMs are cut in parts, data is copied, and "
                            "multiprocessors are lent to communication. It pays where that is less than what it hides "
                            "beyond the asynchronous collectives that run without it: here with the preset made for "
                            "the shape, and not with the settings that stand by themselves. With short sequences the "
                            "parts of a GEMM no longer fill the machine, and the step loses.",
             .does_not_hold = "Smaller GEMMs, copies and lent multiprocessors cost what is hidden, or more.",
             .not_run = ""}},
}};

}  // namespace

std::span<const Claim> tensor_claims() { return kTensorClaims; }

}  // namespace underlap::bench
