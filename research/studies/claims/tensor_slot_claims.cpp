// SPDX-License-Identifier: Apache-2.0
// How claims of both documents on tp_comm_overlap_cfg are judged: the overlap of single GEMMs, and presets for all.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "research/studies/claims/judge.hpp"

namespace underlap::bench {
namespace {

using S = const Subject&;
using plan::TensorSlot;

const plan::Knob& slot_knob(S s) {
  return knob_of(s.cell.plan, plan::kTensorSlotPaths[static_cast<std::size_t>(s.slot)]);
}

const ClaimCell* cell_named(const Evidence& evidence, std::string_view name) {
  const auto found =
      std::ranges::find_if(evidence.cells, [&](const ClaimCell& cell) { return cell.name == name && cell.run; });
  return found == evidence.cells.end() ? nullptr : &*found;
}

// Cells that set a slot (their set is named SLOT:WHAT), each with the cell that sets none.
Subjects written_slots(const Evidence& evidence) {
  Subjects subjects;
  const ClaimCell* none = cell_named(evidence, "none");
  for (const Subject& subject : cells_that_ran(evidence)) {
    const auto slot = plan::kTensorSlotNames.find(subject.cell.name.substr(0, subject.cell.name.find(':')));
    if (!slot || none == nullptr) continue;
    subjects.push_back(subject);
    subjects.back().slot = *slot;
    subjects.back().other = none;
  }
  return subjects;
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
  return std::ranges::equal(transfers_of(a, slot), transfers_of(b, slot), [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.count == other.second.count &&
           one.second.bytes_on_wire == other.second.bytes_on_wire;
  });
}

double comm_ms_of(const ClaimCell& cell, TensorSlot slot) {
  double sum = 0;
  for (const auto& [purpose, of] : transfers_of(cell, slot)) sum += of.comm_ms;
  return sum;
}

// Whether all slots but the written one are set up and communicate as in the cell that writes none.
bool leaves_others(S s) {
  const auto& here = s.cell.plan.config.tensor_overlap;
  const auto& there = s.other->plan.config.tensor_overlap;
  return std::ranges::all_of(all_slots(), [&](TensorSlot slot) {
    return slot == s.slot || (here[slot] == there[slot] && are_alike(s.cell, *s.other, slot));
  });
}

// Whether every field that was written stands so in what is in effect.
bool is_in_effect(const plan::Knob& knob) {
  const auto* requested = std::get_if<plan::ValueMapping>(&knob.requested);
  return requested != nullptr && std::ranges::all_of(*requested, [&](const auto& field) {
           const plan::Value* value = find(knob.effective, field.first);
           return value != nullptr && *value == field.second;
         });
}

std::string transfers_text(S s) {
  std::vector<std::string> transfers;
  for (const auto& [purpose, of] : transfers_of(s.cell, s.slot))
    transfers.push_back(fmt::format("{:g} {}", of.count, purpose));
  return fmt::format("{}", fmt::join(transfers, ", "));
}

// The table of both claims of single GEMMs.
std::vector<Column> slot_columns() {
  return {slot_column(),
          {{"written", Align::left}, [](S s) { return to_json_text(slot_knob(s).requested); }},
          {{"in effect", Align::left}, [](S s) { return to_json_text(slot_knob(s).effective); }},
          {{"decided by"}, [](S s) { return slot_knob(s).source; }},
          {{"in a step", Align::left}, transfers_text},
          {{"comm us"}, [](S s) { return in_us(comm_ms_of(s.cell, s.slot)); }},
          {{"other nine unchanged"}, [](S s) { return std::string(leaves_others(s) ? "yes" : "no"); }}};
}

std::optional<bool> is_configured_alone(S s) {
  const bool shows = !are_alike(s.cell, *s.other, s.slot) || comm_ms_of(s.cell, s.slot) != comm_ms_of(*s.other, s.slot);
  return is_in_effect(slot_knob(s)) && shows && leaves_others(s);
}

std::optional<bool> is_switched_off_alone(S s) {
  const ClaimCell& off = *cell_named(s.evidence, "off");
  return s.cell.plan.config.tensor_overlap[s.slot].method == off.plan.config.tensor_overlap[s.slot].method &&
         are_alike(s.cell, off, s.slot) && leaves_others(s);
}

Subjects slots_beside_no_overlap(const Evidence& evidence) {
  return cell_named(evidence, "off") == nullptr ? Subjects{} : written_slots(evidence);
}

Subjects presets(const Evidence& evidence) {
  return where(compared("settings", "own")(evidence), [](S s) { return s.other != &s.cell; });
}

std::string shape_of(S s) { return s.cell.values.at("shape"); }

}  // namespace

std::vector<Judge> tensor_slot_judges() {
  return {
      {.id = "tp_single_gemm", .rows = written_slots, .columns = slot_columns(), .holds = is_configured_alone},
      {.id = "tp_single_switch",
       .rows = slots_beside_no_overlap,
       .columns = slot_columns(),
       .holds = is_switched_off_alone},
      {.id = "tp_preset",
       .rows = presets,
       .columns = {{{"shape", Align::left}, shape_of},
                   {{"tensor-parallel ranks"},
                    [](S s) { return as_integer(s.cell.plan.config.parallel.tensor_model_parallel_size); }},
                   {{"step ms, own settings"}, [](S s) { return in_ms(step_of(*s.other)); }},
                   {{"step ms, preset"}, [](S s) { return in_ms(step_of(s.cell)); }},
                   {{"preset / own"}, [](S s) { return as_ratio(step_ratio(s)); }},
                   {{"exposed ms, own settings"}, [](S s) { return in_ms(mode_of(*s.other, "tp").exposed_ms); }},
                   {{"exposed ms, preset"}, [](S s) { return in_ms(mode_of(s.cell, "tp").exposed_ms); }}},
       .name = shape_of,
       .holds = [](S s) { return std::optional(is_shorter(s)); }},
  };
}

}  // namespace underlap::bench
