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

/// Reads a field from a slot's settings, and writes it.
struct SlotMember {
  Value (*read)(const TensorSlotOverlap& overlap) = nullptr;
  void (*store)(TensorSlotOverlap& overlap, const Value& value) = nullptr;
};

/// One field of a tensor-parallel slot. These rows are used to read a slot's entry, merge it over a preset, check it,
/// print it and select techniques. Fields of several techniques are members of TensorSlotOverlap, with a row in
/// slot_fields.cpp. A technique with a private field declares the row in its own file.
struct SlotField {
  std::string_view name;
  Type type = Type::boolean;
  Range range = {};
  std::string_view choices = {};
  std::string_view word = {};  ///< in a plan's table: a flag that is on, or the prefix of a number; empty: NAME=VALUE
  /// Whether the field has an effect in that slot with that method.
  bool (*applies)(TensorSlot slot, TensorMethod method) = [](TensorSlot, TensorMethod m) { return in_userbuffers(m); };
  /// The kind of technique that this flag selects. The flag is off where it does not apply.
  std::optional<SlotTechnique> chooses = {};
  std::string_view no_effect = {};  ///< why a flag that was written is off; empty: not reported
  /// Why `value` is invalid with this configuration, as the end of a sentence; empty: it is valid.
  std::string (*refusal)(const Config& config, const Value& value) = nullptr;
  void (*check)(const SlotInEffect& slot) = nullptr;
  Value fallback = false;  ///< for a field that is not a member of TensorSlotOverlap
  SlotMember member = {};
};

/// All fields: Transformer Engine's in the order of a plan, then the fields of linked techniques, by name.
std::span<const SlotField> slot_fields();

/// nullptr if there is no field of that name.
const SlotField* find_slot_field(std::string_view name);

/// Registers a technique's own field: for the initialization of a constant in its file.
///
/// Throws std::logic_error if the name is taken.
SlotField add_slot_field(const SlotField& field);

Value read_field(const SlotField& field, const TensorSlotOverlap& overlap);
void store_field(const SlotField& field, TensorSlotOverlap& overlap, const Value& value);

}  // namespace underlap::plan
