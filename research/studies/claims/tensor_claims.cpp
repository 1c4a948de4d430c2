// SPDX-License-Identifier: Apache-2.0
// How claims of both documents on tensor-parallel overlap are judged.
#include <fmt/format.h>

#include <algorithm>

#include "research/studies/claims/judge.hpp"

namespace underlap::bench {
namespace {

using S = const Subject&;
using plan::TensorMethod;
using plan::TensorSlot;
using plan::TensorSlotKind;

constexpr const char* kOverlap = "comm_overlap.tp_comm_overlap";

bool overlaps(const ClaimCell& cell) { return knob_of(cell.plan, kOverlap).effective == plan::Value(true); }

report::PurposeSummary summary_of(S s, TensorSlot slot, std::string_view what) {
  return purpose_of(s.cell, fmt::format("{}_{}", plan::kTensorSlotNames[slot], what));
}

double count_of(S s, TensorSlot slot, std::string_view what) { return summary_of(s, slot, what).count; }
double count_of(S s, std::string_view what) { return count_of(s, s.slot, what); }

// The collective that a slot has as long as nothing takes it apart.
std::string collective_of(TensorSlot slot) {
  const TensorSlotKind kind = plan::kind_of(slot);
  const bool reduces = kind == TensorSlotKind::gemm_scatter || kind == TensorSlotKind::column_wgrad;
  return reduces ? "reduce_scatter" : "all_gather";
}

TensorMethod method_of(S s) { return s.cell.plan.config.tensor_overlap[s.slot].method; }

std::string slot_name(S s) { return fmt::format("{} of {}", plan::kTensorSlotNames[s.slot], s.cell.name); }

Column method_column() {
  return {{"method", Align::left}, [](S s) { return std::string(plan::kTensorMethodNames[method_of(s)]); }};
}

std::optional<bool> has_its_collectives(S s) {
  return std::ranges::all_of(all_slots(), [&](TensorSlot slot) {
    return count_of(s, slot, collective_of(slot)) > 0 && count_of(s, slot, "all_reduce") == 0;
  });
}

report::PurposeSummary collective_summary(S s) { return summary_of(s, s.slot, collective_of(s.slot)); }

std::optional<bool> hides_in_bulk(S s) {
  if (!overlaps(s.cell)) return std::nullopt;
  const report::PurposeSummary of = collective_summary(s);
  return method_of(s) == TensorMethod::bulk && of.exposed_ms < (1 - s.noticeable) * of.comm_ms;
}

bool sums(S s) { return s.cell.computed.contains(name_of_slot(s.slot) + "_ring_sum"); }

// Slots whose GEMM needs its collective, or makes what it reduces: whether the steps of a ring took its place.
std::optional<bool> is_replaced(S s) {
  if (!overlaps(s.cell)) return std::nullopt;
  const bool reduces = plan::kind_of(s.slot) == TensorSlotKind::gemm_scatter;
  return collective_summary(s).count == 0 && count_of(s, "ring_hop") > 0 && sums(s) == reduces;
}

std::string num_collectives(S s) { return as_number(collective_summary(s).count); }
std::string num_hops(S s) { return as_number(count_of(s, "ring_hop")); }

Subjects pipelined_slots(const Evidence& evidence) {
  return where(slotted(cells_with_steps(evidence), {TensorSlotKind::gemm_scatter}),
               [](S s) { return method_of(s) == TensorMethod::pipeline; });
}

// The chunks of a pipelined slot.
struct SlotExposure {
  std::int64_t chunks = 0;
  double exposed_ms = 0;
  double last_ms = 0;

  double beyond_ms() const { return std::max(0.0, exposed_ms - last_ms); }
};

SlotExposure exposure_of(S s) {
  SlotExposure found;
  for (const Chunk& chunk : s.cell.chunks) {
    if (chunk.purpose != name_of_slot(s.slot) + "_reduce_scatter") continue;
    ++found.chunks;
    found.exposed_ms += chunk.exposed_ms;
    found.last_ms = chunk.time_ms;
  }
  return found;
}

double share_beyond(S s) { return exposure_of(s).beyond_ms() / step_of(s.cell); }

std::optional<bool> follows_its_gates(S s) {
  const plan::Knob& knob = knob_of(s.cell.plan, kOverlap);
  const plan::ParallelConfig& p = s.cell.plan.config.parallel;
  const bool may = p.tensor_model_parallel_size >= 2 && p.sequence_parallel;
  return s.cell.plan.errors.empty() && knob.effective == plan::Value(may) && (knob.source == "gate") == !may;
}

std::string why_gated(S s) {
  const plan::Knob& knob = knob_of(s.cell.plan, kOverlap);
  return knob.source == "gate" ? knob.reason : "as requested";  // and not in which file
}

std::string_view path_of(S s) { return plan::kTensorSlotPaths[static_cast<std::size_t>(s.slot)]; }

std::optional<bool> has_own_settings(S s) {
  if (knob_of(s.cell.plan, "comm_overlap.tp_comm_overlap_cfg").requested != plan::Value()) return std::nullopt;
  return s.cell.plan.config.tensor_overlap[s.slot] == plan::transformer_engine_default(s.slot) &&
         knob_of(s.cell.plan, path_of(s)).source == "auto";
}

// Cells that ran, each with the cell of the same shape without overlap.
Subjects beside_no_overlap(const Evidence& evidence) {
  Subjects subjects;
  for (const Subject& subject : cells_with_steps(evidence)) {
    const auto off = std::ranges::find_if(evidence.cells, [&](const ClaimCell& other) {
      return !overlaps(other) && other.plan.config.model.seq_length == subject.cell.plan.config.model.seq_length;
    });
    if (off != evidence.cells.end() && has_step(*off)) subjects.emplace_back(subject).other = &*off;
  }
  return subjects;
}

std::string two_digits(const std::optional<report::Estimate>& of) {
  return of ? fmt::format("{:.2f}", of->value) : "-";
}

}  // namespace

std::vector<Judge> tensor_judges() {
  using enum TensorSlotKind;
  return {
      {.id = "tp_collectives",
       .rows =
           [](const Evidence& evidence) {
             return slotted(cells_that_ran(evidence), {gather_gemm, gemm_scatter, column_dgrad, column_wgrad});
           },
       .columns = {cell_column(),
                   slot_column(),
                   {{"all-gathers per step"}, [](S s) { return as_number(count_of(s, "all_gather")); }},
                   {{"reduce-scatters per step"}, [](S s) { return as_number(count_of(s, "reduce_scatter")); }},
                   {{"all-reduces per step"}, [](S s) { return as_number(count_of(s, "all_reduce")); }}},
       .cases = cells_that_ran,
       .holds = has_its_collectives},
      {.id = "tp_bulk",
       .rows =
           [](const Evidence& evidence) {
             return slotted(cells_that_ran(evidence), {column_dgrad, column_wgrad});
           },
       .columns = {cell_column(),
                   slot_column(),
                   method_column(),
                   {{"collective", Align::left}, [](S s) { return collective_of(s.slot); }},
                   {{"comm us"}, [](S s) { return in_us(collective_summary(s).comm_ms); }},
                   {{"exposed us"}, [](S s) { return in_us(collective_summary(s).exposed_ms); }}},
       .name = slot_name,
       .holds = hides_in_bulk},
      {.id = "tp_ring_gather",
       .rows = [](const Evidence& evidence) { return slotted(cells_that_ran(evidence), {gather_gemm}); },
       .columns = {cell_column(),
                   slot_column(),
                   method_column(),
                   {{"all-gathers per step"}, num_collectives},
                   {{"hops per step"}, num_hops}},
       .name = slot_name,
       .holds = is_replaced},
      {.id = "tp_ring_scatter",
       .rows = [](const Evidence& evidence) { return slotted(cells_that_ran(evidence), {gemm_scatter}); },
       .columns = {cell_column(),
                   slot_column(),
                   method_column(),
                   {{"reduce-scatters per step"}, num_collectives},
                   {{"hops per step"}, num_hops},
                   {{"a sum"}, [](S s) { return std::string(sums(s) ? "yes" : "no"); }}},
       .name = slot_name,
       .holds = is_replaced},
      {.id = "tp_exposed_chunk",
       .rows = pipelined_slots,
       .columns = {cell_column(),
                   slot_column(),
                   {{"chunks"}, [](S s) { return as_integer(exposure_of(s).chunks); }},
                   {{"exposed us"}, [](S s) { return in_us(exposure_of(s).exposed_ms); }},
                   {{"last chunk us"}, [](S s) { return in_us(exposure_of(s).last_ms); }},
                   {{"other exposed us"}, [](S s) { return in_us(exposure_of(s).beyond_ms()); }},
                   {{"other exposed, % of the step"},
                    [](S s) { return fmt::format("{:.2f}", 100 * share_beyond(s)); }}},
       .name = slot_name,
       .holds = [](S s) { return std::optional(exposure_of(s).chunks > 0 && share_beyond(s) <= s.noticeable); }},
  };
}

std::vector<Judge> tensor_setting_judges() {
  using enum TensorSlotKind;
  return {
      {.id = "tp_gates",
       .rows = every_cell,
       .columns = {cell_column(),
                   {{"requested"}, [](S s) { return to_json_text(knob_of(s.cell.plan, kOverlap).requested); }},
                   {{"effective"}, [](S s) { return effective_text(s, kOverlap); }},
                   {{"decided by"}, [](S s) { return knob_of(s.cell.plan, kOverlap).source; }},
                   {{"why", Align::left}, why_gated}},
       .holds = follows_its_gates},
      {.id = "tp_own_settings",
       .rows =
           [](const Evidence& evidence) {
             return slotted(every_cell(evidence), {gather_gemm, gemm_scatter, column_dgrad, column_wgrad});
           },
       .columns = {cell_column(),
                   slot_column(),
                   {{"effective", Align::left}, [](S s) { return effective_text(s, path_of(s)); }},
                   {{"decided by"}, [](S s) { return knob_of(s.cell.plan, path_of(s)).source; }}},
       .name = slot_name,
       .holds = has_own_settings},
      {.id = "tp_speedup",
       .rows = beside_no_overlap,
       .columns = {cell_column(),
                   {{"step ms"}, [](S s) { return two_digits(s.cell.run->step_ms); }},
                   {{"step / off"}, [](S s) { return as_ratio(step_ratio(s)); }},
                   {{"comm ms"}, [](S s) { return two_digits(s.cell.run->comm_ms); }},
                   {{"exposed ms"}, [](S s) { return two_digits(s.cell.run->exposed_ms); }}},
       .holds = [](S s) { return overlaps(s.cell) ? std::optional(is_shorter(s)) : std::nullopt; }},
  };
}

}  // namespace underlap::bench
