// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/plan_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "impl/plan/slots/slot_fields.hpp"
#include "platform/memory_room.hpp"

namespace underlap::plan {
namespace {

/// Position of a field in the text: flags that add to a method come last.
std::size_t rank_of(std::string_view name) {
  if (name == "_target_") return 0;
  const SlotField* const field = find_slot_field(name);
  if (field == nullptr) return 3 * slot_fields().size();
  const auto rank = static_cast<std::size_t>(field - slot_fields().data()) + 1;
  return field->word.starts_with("+") ? rank + slot_fields().size() : rank;
}

/// One field of a slot: "pipeline", "x4", "sm24", "margin". Fields that are off are omitted.
std::string field_text(std::string_view name, const Value& value) {
  const auto* word = std::get_if<std::string>(&value);
  const std::string text = word != nullptr ? *word : to_json_text(value);
  if (value == Value(false)) return "";
  if (name == "method") return text;
  if (name == "_target_") return text.substr(text.rfind('.') + 1);
  const SlotField* const field = find_slot_field(name);
  if (field == nullptr || field->word.empty() || std::holds_alternative<ValueList>(value))
    return fmt::format("{}={}", name, text);
  return field->type == Type::boolean ? std::string(field->word) : fmt::format("{}{}", field->word, text);
}

}  // namespace

bool is_slot(const Knob& knob) {
  return knob.name.starts_with(kSlotSection) && std::holds_alternative<ValueMapping>(knob.effective);
}

bool is_left_alone(const Knob& knob) { return knob.source == "auto" && knob.reason.starts_with("default:"); }

std::string_view why_no_effect(const Knob& knob) {
  constexpr std::string_view kWords = "no effect: ";
  const std::size_t at = knob.reason.find(kWords);
  return at == std::string::npos ? std::string_view() : std::string_view(knob.reason).substr(at + kWords.size());
}

std::string slot_text(const Value& slot) {
  const auto* written = std::get_if<ValueMapping>(&slot);
  if (written == nullptr) return to_json_text(slot);
  ValueMapping fields = *written;
  std::ranges::stable_sort(fields, {}, [](const auto& field) { return rank_of(field.first); });
  std::vector<std::string> words;
  for (const auto& [name, value] : fields)
    if (std::string word = field_text(name, value); !word.empty()) words.push_back(std::move(word));
  return words.empty() ? to_json_text(slot) : fmt::format("{}", fmt::join(words, " "));
}

std::string value_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return slot_text(value);
}

std::string memory_text(const PeakMemory& peak) {
  const auto also = [](const char* what, std::int64_t bytes) {
    return bytes > 0 ? fmt::format(" + {} {}", what, in_bytes(bytes)) : "";
  };
  return fmt::format("{} = parameters {} + gradients {} + optimizer {} + activations {}{}{}{} + unverified: {}{}",
                     in_bytes(peak.total()), in_bytes(peak.parameters), in_bytes(peak.gradients),
                     in_bytes(peak.optimizer), in_bytes(peak.activations), also("userbuffers", peak.userbuffers),
                     also("exchange", peak.exchange), also("workspaces", peak.workspaces),
                     fmt::format("context {}", in_bytes(peak.context)), also("communicators", peak.communicators));
}

}  // namespace underlap::plan
