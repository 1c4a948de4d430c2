// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "impl/plan/plan.hpp"

namespace underlap::plan {

/// The prefix of the slots of tensor-parallel overlap.
inline constexpr std::string_view kSlotSection = "comm_overlap.tp_comm_overlap_cfg.";

/// A slot of tp_comm_overlap_cfg that something is in effect for.
bool is_slot(const Knob& knob);

/// Whether the setting was not written and no rule decided it.
bool is_left_alone(const Knob& knob);

/// Why the effective value of a setting does nothing, from its reason; empty: it does something.
std::string_view why_no_effect(const Knob& knob);

/// A slot in a few words: "ring_exchange sm1 cga1 margin +aggregate"; what is no slot as JSON text.
std::string slot_text(const Value& slot);

/// A value as a person writes it: text without quotes, a slot in a few words.
std::string value_text(const Value& value);

/// The total and what it is made of.
std::string memory_text(const PeakMemory& peak);

}  // namespace underlap::plan
