// SPDX-License-Identifier: Apache-2.0
#include "research/studies/claims/judge.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace underlap::bench {
namespace {

// Whether knob `path` has a spelling, its own path included, that begins with `section` and a dot.
bool is_spelled_in(const Evidence& evidence, std::string_view path, std::string_view section) {
  const std::string beginning = fmt::format("{}.", section);
  const auto knob = std::ranges::find(evidence.knobs, path, &plan::KnobInfo::name);
  if (knob == evidence.knobs.end()) return false;
  return knob->name.starts_with(beginning) ||
         std::ranges::any_of(knob->spellings, [&](const std::string& s) { return s.starts_with(beginning); });
}

}  // namespace

const std::vector<Judge>& all_judges() {
  static const std::vector<Judge> kAll = [] {
    std::vector<Judge> judges;
    for (const auto& some :
         {nemo_judges(), nemo_precision_judges(), bridge_judges(), tensor_judges(), tensor_setting_judges(),
          tensor_slot_judges(), pipeline_judges(), pipeline_setting_judges(), context_judges()})
      judges.insert(judges.end(), some.begin(), some.end());
    return judges;
  }();
  return kAll;
}

const Judge* judge_of(std::string_view claim) {
  const auto found = std::ranges::find(all_judges(), claim, &Judge::id);
  return found == all_judges().end() ? nullptr : &*found;
}

Finding examine(const Judge& judge, const Evidence& evidence, double noticeable) {
  Finding finding;
  for (const Column& column : judge.columns) finding.found.columns.push_back(column.head);
  for (Subject& subject : judge.rows(evidence)) {
    subject.noticeable = noticeable;
    auto& row = finding.found.rows.emplace_back();
    for (const Column& column : judge.columns) row.emplace_back(column.text(subject));
  }
  for (Subject& subject : (judge.cases ? judge.cases : judge.rows)(evidence)) {
    subject.noticeable = noticeable;
    if (const std::optional<bool> holds = judge.holds(subject))
      finding.cases.push_back({judge.name == nullptr ? subject.cell.name : judge.name(subject), *holds});
  }
  if (judge.note != nullptr) finding.note = judge.note(evidence, noticeable);
  return finding;
}

Subjects every_cell(const Evidence& evidence) {
  Subjects subjects;
  for (const ClaimCell& cell : evidence.cells) subjects.push_back({.evidence = evidence, .cell = cell});
  return subjects;
}

Subjects cells_that_ran(const Evidence& evidence) {
  return where(every_cell(evidence), [](const Subject& s) { return s.cell.run.has_value(); });
}

Subjects cells_with_steps(const Evidence& evidence) {
  return where(every_cell(evidence), [](const Subject& s) { return has_step(s.cell); });
}

Subjects where(const Subjects& some, bool (*is_one)(const Subject&)) {
  Subjects subjects;
  for (const Subject& subject : some)
    if (is_one(subject)) subjects.push_back(subject);
  return subjects;
}

Subjects parted(const Subjects& some, const std::vector<std::string>& parts) {
  Subjects subjects;
  for (const Subject& whole : some)
    for (const std::string& part : parts) subjects.emplace_back(whole).part = part;
  return subjects;
}

Subjects purposes_that_ran(const Evidence& evidence) {
  Subjects subjects;
  for (const Subject& whole : cells_that_ran(evidence))
    for (const auto& [purpose, of] : whole.cell.run->purposes) subjects.emplace_back(whole).part = purpose;
  return subjects;
}

Subjects slotted(const Subjects& some, std::initializer_list<plan::TensorSlotKind> kinds) {
  Subjects subjects;
  for (const Subject& whole : some)
    for (const plan::TensorSlot slot : slots_of(kinds)) subjects.emplace_back(whole).slot = slot;
  return subjects;
}

Select compared(const std::string& axis, const std::string& value) {
  return [axis, value](const Evidence& evidence) {
    Subjects subjects;
    for (const Subject& whole : cells_with_steps(evidence)) {
      const ClaimCell* other = partner_of(evidence, whole.cell, axis, value);
      if (other != nullptr && has_step(*other)) subjects.emplace_back(whole).other = other;
    }
    return subjects;
  };
}

std::string in_ms(double ms) { return fmt::format("{:.1f}", ms); }
std::string in_us(double ms) { return fmt::format("{:.0f}", 1000 * ms); }
std::string in_percent(double share) { return fmt::format("{:.1f}", 100 * share); }
std::string as_ratio(double ratio) { return fmt::format("{:.3f}", ratio); }
std::string as_number(double value) { return fmt::format("{:g}", value); }
std::string as_integer(std::int64_t value) { return fmt::format("{}", value); }
std::string name_of_slot(plan::TensorSlot slot) { return std::string(plan::kTensorSlotNames[slot]); }

std::vector<plan::TensorSlot> slots_of(std::initializer_list<plan::TensorSlotKind> kinds) {
  std::vector<plan::TensorSlot> slots;
  for (std::size_t i = 0; i < plan::kNumTensorSlots; ++i) {
    const auto slot = static_cast<plan::TensorSlot>(i);
    if (std::ranges::find(kinds, plan::kind_of(slot)) != kinds.end()) slots.push_back(slot);
  }
  return slots;
}

std::vector<plan::TensorSlot> all_slots() {
  using enum plan::TensorSlotKind;
  return slots_of({gather_gemm, gemm_scatter, column_dgrad, column_wgrad});
}

Column cell_column() {
  return {{"cell", Align::left}, [](const Subject& s) { return s.cell.name; }};
}

Column slot_column() {
  return {{"slot", Align::left}, [](const Subject& s) { return name_of_slot(s.slot); }};
}

Column part_column(const std::string& title) {
  return {{title, Align::left}, [](const Subject& s) { return s.part; }};
}

double step_of(const ClaimCell& cell) { return cell.run->step_ms->value; }

bool has_step(const ClaimCell& cell) { return cell.run && cell.run->step_ms.has_value(); }

double step_ratio(const Subject& subject) { return step_of(subject.cell) / step_of(*subject.other); }

bool is_shorter(const Subject& subject) { return step_ratio(subject) <= 1 - subject.noticeable; }

report::PurposeSummary purpose_of(const ClaimCell& cell, const std::string& purpose) {
  if (!cell.run) return {};
  const auto found = cell.run->purposes.find(purpose);
  return found == cell.run->purposes.end() ? report::PurposeSummary{} : found->second;
}

ModeTime mode_of(const ClaimCell& cell, const std::string& mode) {
  const auto found = cell.modes.find(mode);
  return found == cell.modes.end() ? ModeTime{} : found->second;
}

const plan::Knob& knob_of(const plan::Plan& plan, std::string_view name) {
  const auto found = std::ranges::find(plan.knobs, name, &plan::Knob::name);
  if (found == plan.knobs.end()) throw std::invalid_argument(fmt::format("the plan does not contain {}", name));
  return *found;
}

std::string effective_text(const Subject& subject, std::string_view knob) {
  return to_json_text(knob_of(subject.cell.plan, knob).effective);
}

bool is_chosen(const plan::Plan& plan, std::string_view knob, const plan::Value& value) {
  const plan::Knob& found = knob_of(plan, knob);
  return found.source == "auto" && found.effective == value;
}

const ClaimCell* partner_of(const Evidence& evidence, const ClaimCell& cell, const std::string& axis,
                            const std::string& value) {
  auto wanted = cell.values;
  wanted[axis] = value;
  const auto found = std::ranges::find(evidence.cells, wanted, &ClaimCell::values);
  return found == evidence.cells.end() ? nullptr : &*found;
}

bool belongs_to(const Evidence& evidence, std::string_view path, std::string_view section) {
  return is_spelled_in(evidence, path, section) && !is_spelled_in(evidence, path, "comm_overlap");
}

}  // namespace underlap::bench
