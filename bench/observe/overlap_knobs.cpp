// SPDX-License-Identifier: Apache-2.0
#include "bench/observe/overlap_knobs.hpp"

#include <string>
#include <utility>

#include "impl/step/techniques.hpp"

namespace underlap::bench {
namespace {

using report::OverlapKnob;

// Adds the plan's entry for the knob; a plan need not list a knob that was not requested.
OverlapKnob row_of(const ModeSwitch& of, const plan::Plan& plan) {
  OverlapKnob row{.name = of.knob,
                  .requested = "null",
                  .effective = to_json_text(of.effective),
                  .is_asked_for = of.is_on,
                  .is_on = of.is_on,
                  .gate = {},
                  .group_size = of.group_size,
                  .waits_are_the_schedules = of.waits_are_the_schedules,
                  .is_its_own = {}};
  if (const plan::Knob* knob = plan::find_knob(plan, of.knob)) {
    row.requested = to_json_text(knob->requested);
    const bool is_overruled = knob->source == "auto" && !is_null(knob->requested) && knob->requested != knob->effective;
    if (knob->source == "gate" || is_overruled) row.gate = knob->reason;
    const bool is_yes_or_no = std::holds_alternative<bool>(of.effective);
    row.is_asked_for = of.is_on || (is_yes_or_no ? knob->requested == plan::Value(true) : !row.gate.empty());
  }
  return row;
}

}  // namespace

std::vector<OverlapKnob> foreign_overlap_knobs(const plan::Plan& plan) {
  std::vector<OverlapKnob> rows;
  for (ModeSwitch& each : overlap_switches(plan)) {
    if (!each.is_foreign) continue;
    rows.push_back(row_of(each, plan));
    rows.back().is_its_own = [mode = each.mode, is_foreign = std::move(each.is_foreign)](const Tag& tag) {
      return tag.mode == mode && is_foreign(tag);
    };
  }
  return rows;
}

std::vector<OverlapKnob> overlap_knobs(const plan::Plan& plan) {
  std::vector<OverlapKnob> rows;
  for (const ModeSwitch& each : overlap_switches(plan)) {
    rows.push_back(row_of(each, plan));
    rows.back().is_its_own = [each](const Tag& tag) { return each.moves(tag); };
  }
  return rows;
}

}  // namespace underlap::bench
