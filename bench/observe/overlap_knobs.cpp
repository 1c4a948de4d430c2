// SPDX-License-Identifier: Apache-2.0
#include "bench/observe/overlap_knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "impl/plan/layout/chunk_buckets.hpp"
#include "impl/plan/tensor_slots.hpp"
#include "impl/step/groups.hpp"
#include "impl/step/techniques.hpp"

namespace underlap::bench {
namespace {

using plan::TensorSlot;
using report::OverlapKnob;

// Purposes of a slot are its name and what it does: qkv_fprop_all_gather.
bool is_of_slot(const Tag& tag, std::string_view slot) {
  const std::string_view purpose = name_of(tag.purpose);
  return tag.mode == Mode::tp && purpose.size() > slot.size() && purpose.starts_with(slot) &&
         purpose[slot.size()] == '_';
}

bool is_of_any_slot(const Tag& tag) {
  for (std::size_t slot = 0; slot < plan::kNumTensorSlots; ++slot)
    if (is_of_slot(tag, plan::kTensorSlotNames[static_cast<TensorSlot>(slot)])) return true;
  return false;
}

std::int64_t data_ranks(const plan::Config& c) {
  return std::int64_t{c.parallel.data_parallel_size} * c.parallel.context_parallel_size;
}

std::int64_t gathering_ranks(const plan::Config& c) { return instance_size(c); }

std::int64_t tensor_ranks(const plan::Config& c) { return c.parallel.tensor_model_parallel_size; }

std::int64_t stages(const plan::Config& c) { return c.parallel.pipeline_model_parallel_size; }

// Of a trace that was made elsewhere the mode and the collective alone are known, and the purpose is what the
// collective is called.
bool is_foreign_grad_reduce(const plan::Config& c, const Tag& tag) {
  const std::string_view collective = name_of(tag.purpose);
  if (tag.mode != Mode::dp) return false;
  if (!c.ddp.use_distributed_optimizer) return collective == "all_reduce";
  return collective == "reduce_scatter" || (c.ddp.reduce_scatter_with_fp32_accumulation && collective == "all_to_all");
}

bool is_foreign_param_gather(const plan::Config&, const Tag& tag) {
  return tag.mode == Mode::dp && name_of(tag.purpose) == "all_gather";
}

template <Mode kMode>
bool is_of_mode(const plan::Config&, const Tag& tag) {
  return tag.mode == kMode;
}

// A switch is on or off. The communication that it moves is that of the techniques whose overlap hangs on it.
struct Switch {
  std::string_view name;
  std::int64_t (*group_size)(const plan::Config&);
  bool (*is_foreign)(const plan::Config&,
                     const Tag&);  // which it is in a trace made elsewhere; null: it cannot be told
  bool waits_are_the_schedules = false;
};
constexpr std::string_view kTensorSwitch = "comm_overlap.tp_comm_overlap";
constexpr std::array kSwitches{Switch{"comm_overlap.overlap_grad_reduce", data_ranks, is_foreign_grad_reduce},
                               Switch{"comm_overlap.overlap_param_gather", gathering_ranks, is_foreign_param_gather},
                               Switch{kTensorSwitch, tensor_ranks, is_of_mode<Mode::tp>},
                               Switch{"comm_overlap.overlap_p2p_comm", stages, is_of_mode<Mode::pp>, true},
                               Switch{"comm_overlap.defer_embedding_wgrad_compute", tensor_ranks, nullptr}};

const plan::Knob* find(const plan::Plan& plan, std::string_view name) {
  const auto found = std::find_if(plan.knobs.begin(), plan.knobs.end(), [&](const auto& k) { return k.name == name; });
  return found == plan.knobs.end() ? nullptr : &*found;
}

bool is_requested(const plan::Knob* knob) { return knob != nullptr && knob->requested == plan::Value(true); }

// What the plan says of the knob; a plan need not list one that nobody asked for.
OverlapKnob row_of(std::string_view name, const plan::Value& effective, const plan::Plan& plan) {
  OverlapKnob row{.name = std::string(name),
                  .requested = "null",
                  .effective = to_json_text(effective),
                  .gate = {},
                  .is_its_own = {}};
  if (const plan::Knob* knob = find(plan, name)) {
    row.requested = to_json_text(knob->requested);
    const bool is_overruled = knob->source == "auto" && !is_null(knob->requested) && knob->requested != knob->effective;
    if (knob->source == "gate" || is_overruled) row.gate = knob->reason;
  }
  return row;
}

OverlapKnob row_of(const Switch& a_switch, const plan::Plan& plan) {
  const plan::Knob* knob = find(plan, a_switch.name);
  OverlapKnob row = row_of(a_switch.name, knob == nullptr ? plan::Value(false) : knob->effective, plan);
  row.group_size = a_switch.group_size(plan.config);
  row.waits_are_the_schedules = a_switch.waits_are_the_schedules;
  row.is_its_own = [name = a_switch.name](const Tag& tag) {
    return name == kTensorSwitch ? is_of_any_slot(tag) : is_of_knob(name, tag);
  };
  row.is_on = knob != nullptr && knob->effective == plan::Value(true);
  row.is_asked_for = row.is_on || is_requested(knob);
  return row;
}

// Whatever the exchange is: of all_gather and a2a it shows that nothing of them is hidden.
OverlapKnob context_row(const plan::Plan& plan) {
  const plan::Config& config = plan.config;
  constexpr std::string_view kName = "extensions.cp_overlap";
  OverlapKnob row = row_of(kName, config.extensions.cp_overlap, plan);
  row.group_size = config.parallel.context_parallel_size;
  row.is_its_own = [](const Tag& tag) { return tag.mode == Mode::cp; };
  row.is_on = config.extensions.cp_overlap && row.group_size > 1;
  row.is_asked_for = row.is_on || is_requested(find(plan, kName));
  return row;
}

bool overlaps(const plan::Config& config, TensorSlot slot) {
  return std::ranges::any_of(techniques_in_effect(config), [&](const TechniqueInEffect& technique) {
    return technique.slot == slot && technique.facts->overlaps;
  });
}

OverlapKnob row_of(TensorSlot slot, const plan::Plan& plan) {
  const std::string_view method = plan::kTensorMethodNames[plan.config.tensor_overlap[slot].method];
  OverlapKnob row = row_of(plan::kTensorSlotPaths[static_cast<std::size_t>(slot)], std::string(method), plan);
  row.group_size = tensor_ranks(plan.config);
  row.is_its_own = [name = plan::kTensorSlotNames[slot]](const Tag& tag) { return is_of_slot(tag, name); };
  row.is_on = overlaps(plan.config, slot);
  row.is_asked_for = row.is_on || !row.gate.empty();
  return row;
}

}  // namespace

std::vector<OverlapKnob> foreign_overlap_knobs(const plan::Plan& plan) {
  std::vector<OverlapKnob> rows;
  for (const Switch& a_switch : kSwitches) {
    if (a_switch.is_foreign == nullptr) continue;
    rows.push_back(row_of(a_switch, plan));
    rows.back().is_its_own = [&config = plan.config, is_foreign = a_switch.is_foreign](const Tag& tag) {
      return is_foreign(config, tag);
    };
  }
  rows.push_back(context_row(plan));
  return rows;
}

std::vector<OverlapKnob> overlap_knobs(const plan::Plan& plan) {
  std::vector<OverlapKnob> rows;
  for (const Switch& a_switch : kSwitches) rows.push_back(row_of(a_switch, plan));
  for (std::size_t slot = 0; slot < plan::kNumTensorSlots; ++slot)
    rows.push_back(row_of(static_cast<TensorSlot>(slot), plan));
  rows.push_back(context_row(plan));
  return rows;
}

}  // namespace underlap::bench
