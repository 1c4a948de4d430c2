// SPDX-License-Identifier: Apache-2.0
// What both documents say of tp_comm_overlap_cfg: the overlap of single GEMMs, and the presets for all of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "impl/plan/tensor_slots.hpp"
#include "research/studies/claims/claim.hpp"

namespace underlap::bench {
namespace {

using plan::TensorMethod;
using plan::TensorSlot;

const plan::Knob& knob_of(const ClaimCell& cell, TensorSlot slot) {
  return bench::knob_of(cell.plan, plan::kTensorSlotPaths[static_cast<std::size_t>(slot)]);
}

// The slot that a cell writes: its set is named SLOT:WHAT.
std::optional<TensorSlot> written_in(const ClaimCell& cell) {
  return plan::kTensorSlotNames.find(cell.name.substr(0, cell.name.find(':')));
}

// The cell that writes no slot, or communicates without overlap.
const ClaimCell* cell_named(const Evidence& evidence, std::string_view name) {
  const auto found = std::find_if(evidence.cells.begin(), evidence.cells.end(),
                                  [&](const ClaimCell& cell) { return cell.name == name && cell.run; });
  return found == evidence.cells.end() ? nullptr : &*found;
}

// What a slot communicates in a step, by purpose without the slot's name.
std::map<std::string, report::PurposeSummary> transfers_of(const ClaimCell& cell, TensorSlot slot) {
  std::map<std::string, report::PurposeSummary> found;
  const std::string beginning = name_of_slot(slot) + "_";
  for (const auto& [purpose, of] : cell.run->purposes)
    if (purpose.starts_with(beginning)) found.emplace(purpose.substr(beginning.size()), of);
  return found;
}

bool are_alike(const ClaimCell& a, const ClaimCell& b, TensorSlot slot) {
  const auto of_a = transfers_of(a, slot), of_b = transfers_of(b, slot);
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.count == other.second.count &&
           one.second.bytes_on_wire == other.second.bytes_on_wire;
  });
}

double comm_ms_of(const ClaimCell& cell, TensorSlot slot) {
  double sum = 0;
  for (const auto& [purpose, of] : transfers_of(cell, slot)) sum += of.comm_ms;
  return sum;
}

// Whether all slots but one are set up and communicate as in a cell that writes none.
bool leaves_others(const ClaimCell& cell, const ClaimCell& none, TensorSlot written) {
  const auto& here = cell.plan.config.tensor_overlap;
  const auto& there = none.plan.config.tensor_overlap;
  for (std::size_t i = 0; i < plan::kNumTensorSlots; ++i) {
    const auto slot = static_cast<TensorSlot>(i);
    if (slot != written && !(here[slot] == there[slot] && are_alike(cell, none, slot))) return false;
  }
  return true;
}

// Whether every field that was written stands so in what is in effect.
bool is_in_effect(const plan::Knob& knob) {
  const auto* requested = std::get_if<plan::ValueMapping>(&knob.requested);
  return requested != nullptr && std::all_of(requested->begin(), requested->end(), [&](const auto& field) {
           const plan::Value* value = find(knob.effective, field.first);
           return value != nullptr && *value == field.second;
         });
}

// The table of both claims of single GEMMs: one row for each cell that writes a slot.
Finding slots_table() {
  return {.found = {{{"slot", Align::left},
                     {"written", Align::left},
                     {"in effect", Align::left},
                     {"decided by"},
                     {"in a step", Align::left},
                     {"comm us"},
                     {"the other nine as before"}},
                    {}},
          .cases = {},
          .note = {}};
}

std::vector<TableCell> slot_row(const ClaimCell& cell, const ClaimCell& none, TensorSlot slot) {
  const plan::Knob& knob = knob_of(cell, slot);
  std::vector<std::string> transfers;
  for (const auto& [purpose, of] : transfers_of(cell, slot))
    transfers.push_back(fmt::format("{:g} {}", of.count, purpose));
  return {name_of_slot(slot),
          to_json_text(knob.requested),
          to_json_text(knob.effective),
          knob.source,
          fmt::format("{}", fmt::join(transfers, ", ")),
          fmt::format("{:.0f}", 1000 * comm_ms_of(cell, slot)),
          std::string(leaves_others(cell, none, slot) ? "yes" : "no")};
}

// 1

Finding examine_single_gemm(const Evidence& evidence, double) {
  Finding finding = slots_table();
  const ClaimCell* none = cell_named(evidence, "none");
  for (const ClaimCell& cell : evidence.cells) {
    const auto slot = written_in(cell);
    if (!slot || !cell.run || none == nullptr) continue;
    finding.found.rows.push_back(slot_row(cell, *none, *slot));
    const bool shows = !are_alike(cell, *none, *slot) || comm_ms_of(cell, *slot) != comm_ms_of(*none, *slot);
    finding.cases.push_back(
        {cell.name, is_in_effect(knob_of(cell, *slot)) && shows && leaves_others(cell, *none, *slot)});
  }
  return finding;
}

// 2

Finding examine_single_switch(const Evidence& evidence, double) {
  Finding finding = slots_table();
  const ClaimCell *none = cell_named(evidence, "none"), *off = cell_named(evidence, "off");
  for (const ClaimCell& cell : evidence.cells) {
    const auto slot = written_in(cell);
    if (!slot || !cell.run || none == nullptr || off == nullptr) continue;
    finding.found.rows.push_back(slot_row(cell, *none, *slot));
    const bool is_off = cell.plan.config.tensor_overlap[*slot].method == off->plan.config.tensor_overlap[*slot].method;
    finding.cases.push_back({cell.name, is_off && are_alike(cell, *off, *slot) && leaves_others(cell, *none, *slot)});
  }
  return finding;
}

// 3

ModeTime tensor_time_of(const ClaimCell& cell) {
  const auto found = cell.modes.find("tp");
  return found == cell.modes.end() ? ModeTime{} : found->second;
}

Finding examine_preset(const Evidence& evidence, double noticeable) {
  Finding finding{.found = {{{"shape", Align::left},
                             {"tensor-parallel ranks"},
                             {"step ms, own settings"},
                             {"step ms, preset"},
                             {"preset / own"},
                             {"exposed ms, own settings"},
                             {"exposed ms, preset"}},
                            {}},
                  .cases = {},
                  .note = {}};
  for (const ClaimCell& cell : evidence.cells) {
    const ClaimCell* own = partner_of(evidence, cell, "settings", "own");
    if (own == nullptr || own == &cell || !cell.run || !own->run || !cell.run->step_ms || !own->run->step_ms) continue;
    const double ratio = cell.run->step_ms->value / own->run->step_ms->value;
    const std::string shape = cell.values.at("shape");
    finding.found.rows.push_back({shape, fmt::format("{}", cell.plan.config.parallel.tensor_model_parallel_size),
                                  in_ms(own->run->step_ms->value), in_ms(cell.run->step_ms->value),
                                  fmt::format("{:.3f}", ratio), in_ms(tensor_time_of(*own).exposed_ms),
                                  in_ms(tensor_time_of(cell).exposed_ms)});
    finding.cases.push_back({shape, ratio <= 1 - noticeable});
  }
  return finding;
}

constexpr std::array<Claim, 3> kTensorSlotClaims{{
    {.id = "tp_single_gemm",
     .document = Document::nemo_user_guide,
     .text = "tp_comm_overlap_cfg configures the overlap of each GEMM by itself",
     .runs = true,
     .rule = "the fields written for one GEMM are in effect, its communication in the step is another than without "
             "them, and the other nine GEMMs are set up and communicate as before",
     .examine = examine_single_gemm,
     .why = {.holds = "An entry is laid over Transformer Engine's setting of its GEMM, field by field, and over no "
                      "other.",
             .holds_where = "An entry is laid over Transformer Engine's setting of its GEMM, field by field, and over "
                            "no other. What one entry cannot have is a dgrad that reduces its own output: Megatron "
                            "Core asks the GEMM for its bulk overlap, whatever its entry says, unless "
                            "model.tp_comm_overlap_rs_dgrad is true, and that speaks for qkv and fc1 at once.",
             .does_not_hold = "No entry is in effect as it was written, or each changes other GEMMs too.",
             .not_run = ""}},
    {.id = "tp_single_switch",
     .document = Document::nemo_user_guide,
     .text = "Each bulk, ring and reduce-scatter overlap can be switched off by itself in tp_comm_overlap_cfg",
     .runs = true,
     .rule = "the GEMM communicates as it does without tp_comm_overlap, and the other nine are set up and communicate "
             "as with every overlap on",
     .examine = examine_single_switch,
     .why = {.holds = "An entry that is left out switches its overlap off.",
             .holds_where = "null leaves the entry out, and then Transformer Engine's own setting stands, which "
                            "overlaps: none of its three methods is off. What Megatron Core has are switches for all "
                            "GEMMs of a kind: model.tp_comm_overlap_ag, tp_comm_overlap_rs, tp_comm_bulk_dgrad and "
                            "tp_comm_bulk_wgrad. Method nccl, which switches one GEMM off, is an addition of this "
                            "program.",
             .does_not_hold = "No entry switches an overlap off: left out, Transformer Engine's own setting stands.",
             .not_run = ""}},
    {.id = "tp_preset",
     .document = Document::bridge_skill_card,
     .text = "For the shape and the GPU in its name a userbuffers preset serves better than Transformer Engine's own "
             "settings",
     .runs = true,
     .rule = "the step with the preset is shorter than that with Transformer Engine's own settings by the noticeable "
             "share or more",
     .examine = examine_preset,
     .why = {.holds = "A preset lends bulk collectives fewer multiprocessors than Transformer Engine's sixteen and "
                      "leaves the GEMMs beside them the rest: these are faster, and the collectives still end first.",
             .holds_where = "A preset lends bulk collectives fewer multiprocessors than Transformer Engine's sixteen, "
                            "and leaves the GEMMs beside them the rest. That pays where the slower collective still "
                            "ends before its GEMM. With eight tensor-parallel ranks it does not here: a gather "
                            "beside dgrad on two multiprocessors outlasts an eighth of the GEMM and is exposed. The "
                            "user names the preset; none is chosen by itself, and one for another hidden size, number "
                            "of ranks or GPU, which Megatron-Bridge takes, is an error here.",
             .does_not_hold = "At every shape the multiprocessors that a preset saves cost more than they bring.",
             .not_run = ""}},
}};

}  // namespace

std::span<const Claim> tensor_slot_claims() { return kTensorSlotClaims; }

}  // namespace underlap::bench
