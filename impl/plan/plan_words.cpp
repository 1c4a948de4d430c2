// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/plan_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <variant>
#include <vector>

#include "platform/room.hpp"

namespace underlap::plan {
namespace {

/// One field of a slot: "pipeline", "x4", "sm24", "margin". What is off goes without saying.
std::string field_text(std::string_view name, const Value& value) {
  if (name == "num_splits") return "x" + to_json_text(value);
  if (name == "num_sm") return "sm" + to_json_text(value);
  if (name == "cga_size") return "cga" + to_json_text(value);
  if (value == Value(false)) return "";
  if (name == "set_sm_margin") return "margin";
  if (name == "aggregate") return "+aggregate";
  if (name == "fp8_buf" && value == Value(true)) return "+fp8";
  const auto* word = std::get_if<std::string>(&value);
  const std::string text = word != nullptr ? *word : to_json_text(value);
  if (name == "method") return text;
  if (name == "_target_") return text.substr(text.rfind('.') + 1);
  return fmt::format("{}={}", name, text);
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
  constexpr auto kOrder = std::to_array<std::string_view>(
      {"_target_", "method", "num_splits", "num_sm", "cga_size", "set_sm_margin", "aggregate", "fp8_buf"});
  const auto* fields = std::get_if<ValueMapping>(&slot);
  if (fields == nullptr) return to_json_text(slot);
  std::vector<std::string> words;
  const auto add = [&](std::string_view name, const Value& value) {
    if (std::string word = field_text(name, value); !word.empty()) words.push_back(std::move(word));
  };
  for (const std::string_view name : kOrder)
    if (const Value* value = find(slot, name)) add(name, *value);
  for (const auto& [name, value] : *fields)
    if (std::ranges::find(kOrder, std::string_view(name)) == kOrder.end()) add(name, value);
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
