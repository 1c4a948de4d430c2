// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace underlap::plan {
namespace {

constexpr std::string_view kSlots = "comm_overlap.tp_comm_overlap_cfg.";

/// A slot of tp_comm_overlap_cfg that something is in effect for.
bool is_slot(const Knob& knob) {
  return knob.name.starts_with(kSlots) && std::holds_alternative<ValueMapping>(knob.effective);
}

/// Nobody wrote it and no rule decided.
bool is_left_alone(const Knob& knob) { return knob.source == "auto" && knob.reason.starts_with("default:"); }

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

/// A slot in a few words: "ring_exchange sm1 cga1 margin +aggregate"; what is no slot as JSON text.
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

Table empty_table(const char* what) {
  constexpr int kWidest = 50;  // no preset's name is cut

  return {{{what, Align::left},
           {"requested", Align::left, 0, kWidest},
           {"effective", Align::left, 0, kWidest},
           {"source", Align::left},
           {"reason", Align::left}},
          {}};
}

Table knob_table(const std::vector<Knob>& knobs) {
  constexpr std::size_t kLong = 20;
  Table table = empty_table("knob");
  for (const Knob& knob : knobs) {
    if (is_slot(knob) || is_left_alone(knob)) continue;
    // What is in effect as it was requested is told once where it is long.
    const std::string effective = to_json_text(knob.effective);
    const bool is_said = effective.size() > kLong && knob.effective == knob.requested;
    table.rows.push_back({{knob.name},
                          {to_json_text(knob.requested)},
                          {is_said ? "as requested" : effective},
                          {knob.source},
                          {knob.reason}});
  }
  return table;
}

Table slot_table(const std::vector<Knob>& knobs) {
  Table table = empty_table("slot");
  for (const Knob& knob : knobs)
    if (is_slot(knob))
      table.rows.push_back({{knob.name.substr(kSlots.size())},
                            {slot_text(knob.requested)},
                            {slot_text(knob.effective)},
                            {knob.source},
                            {knob.reason}});
  return table;
}

/// "name = value", as many on a line as are read at a glance.
std::string left_alone(const std::vector<Knob>& knobs) {
  constexpr std::size_t kWidth = 120;
  std::string text;
  std::size_t width = kWidth;
  for (const Knob& knob : knobs) {
    if (!is_left_alone(knob)) continue;
    const std::string word = fmt::format("{} = {}", knob.name, to_json_text(knob.effective));
    const bool fits = width + 2 + word.size() <= kWidth;
    text += (fits ? ", " : text.empty() ? "  " : "\n  ") + word;
    width = fits ? width + 2 + word.size() : 2 + word.size();
  }
  return text.empty() ? "" : fmt::format("\nleft at their defaults\n{}\n", text);
}

std::string gated(const std::vector<Knob>& knobs) {
  std::string text;
  for (const Knob& knob : knobs)
    if (knob.source == "gate")
      text += fmt::format("NOT AS REQUESTED: {} was requested as {} and is {}: {}\n", knob.name,
                          slot_text(knob.requested), slot_text(knob.effective), knob.reason);
  return text.empty() ? text : text + "\n";
}

std::string section(std::string_view title, const std::vector<Message>& messages) {
  std::string text;
  for (const Message& message : messages) text += fmt::format("  {}: {}\n", message.where, message.message);
  return text.empty() ? text : fmt::format("\n{}\n{}", title, text);
}

std::string mebibytes(std::int64_t bytes) { return fmt::format("{:.1f} MiB", double(bytes) / (1 << 20)); }

}  // namespace

std::string to_text(const Plan& plan, const TableFormat& format) {
  const Table slots = slot_table(plan.knobs);
  std::string text = gated(plan.knobs) + render(knob_table(plan.knobs), format) +
                     (slots.rows.empty() ? "" : "\n" + render(slots, format)) + left_alone(plan.knobs) +
                     "\nenvironment\n";
  for (const EnvironmentVariable& variable : plan.environment)
    text += fmt::format("  {}={}  # {}\n", variable.name, variable.value, variable.reason);
  for (const ChunkBuckets& chunk : plan.buckets)
    text += fmt::format("\nbuckets of stage {}, chunk {}\n  {} of {} elements\n", chunk.stage, chunk.chunk,
                        chunk.elements.size(), fmt::join(chunk.elements, ", "));
  const PeakMemory& peak = plan.peak_memory;
  text += fmt::format(
      "\npredicted peak memory of a rank\n  {} = parameters {} + gradients {} + optimizer {} + "
      "activations {}{}{}\n",
      mebibytes(peak.total()), mebibytes(peak.parameters), mebibytes(peak.gradients), mebibytes(peak.optimizer),
      mebibytes(peak.activations),
      peak.userbuffers > 0 ? fmt::format(" + userbuffers {}", mebibytes(peak.userbuffers)) : "",
      peak.exchange > 0 ? fmt::format(" + exchange {}", mebibytes(peak.exchange)) : "");
  text += section("notices", plan.notices) + section("not run by this version", plan.not_run);
  return text + section("errors", plan.errors);
}

}  // namespace underlap::plan
