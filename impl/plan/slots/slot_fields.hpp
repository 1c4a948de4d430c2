// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "impl/plan/schema/schema.hpp"
#include "impl/plan/slots/slot_key.hpp"
#include "impl/plan/tensor_slots.hpp"

namespace underlap::plan {

struct SlotInEffect;

/// The way of a field into a slot's settings and back out.
struct SlotMember {
  Value (*read)(const TensorSlotOverlap& overlap) = nullptr;
  void (*store)(TensorSlotOverlap& overlap, const Value& value) = nullptr;
};

/// One field of a tensor-parallel slot. A slot's entry is read, laid over a preset, checked and printed by these rows,
/// and techniques are chosen by them. Fields of several techniques are members of TensorSlotOverlap, with a row in
/// slot_fields.cpp. A technique that has a field to itself declares the row in its own file.
struct SlotField {
  std::string_view name;
  Type type = Type::boolean;
  Range range = {};
  std::string_view choices = {};
  std::string_view word = {};  ///< in a plan's table: a flag that is on, or the prefix of a number; empty: NAME=VALUE
  /// Whether the field does anything in that slot under that method.
  bool (*applies)(TensorSlot slot, TensorMethod method) = [](TensorSlot, TensorMethod m) { return in_userbuffers(m); };
  /// The kind of technique that this flag chooses among. It is off where it does not apply.
  std::optional<SlotTechnique> chooses = {};
  std::string_view no_effect = {};  ///< why a flag that was written is off; empty: nobody needs to know
  /// Why `value` cannot be written under this configuration, as the end of a sentence; empty: it can.
  std::string (*refusal)(const Config& config, const Value& value) = nullptr;
  void (*check)(const SlotInEffect& slot) = nullptr;
  Value fallback = false;  ///< of a field that is no member of TensorSlotOverlap
  SlotMember member = {};
};

/// All fields: those of Transformer Engine in the order of a plan, then those of techniques that are linked in, by
/// name.
std::span<const SlotField> slot_fields();

/// nullptr: there is none of that name.
const SlotField* find_slot_field(std::string_view name);

/// Makes a technique's own field known: for the initialization of a constant in its file.
///
/// Throws std::logic_error where the name is taken.
SlotField add_slot_field(const SlotField& field);

Value read_field(const SlotField& field, const TensorSlotOverlap& overlap);
void store_field(const SlotField& field, TensorSlotOverlap& overlap, const Value& value);

}  // namespace underlap::plan
