// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "impl/plan/plan.hpp"
#include "platform/problems.hpp"

namespace underlap::plan {
namespace {

using Columns = std::array<std::string, 5>;

constexpr std::size_t kWidest = 20;      ///< of what was requested, and of what is in effect
constexpr std::size_t kWidestSlot = 40;  ///< the same of a slot
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

Columns slot_columns(const Knob& knob) {
  return {knob.name.substr(kSlots.size()), slot_text(knob.requested), slot_text(knob.effective), knob.source,
          knob.reason};
}

Columns columns(const Knob& knob) {
  // What is in effect as it was requested is told once where it is long.
  const std::string effective = to_json_text(knob.effective);
  const bool is_said = effective.size() > kWidest && knob.effective == knob.requested;
  return {knob.name, to_json_text(knob.requested), is_said ? "as requested" : effective, knob.source, knob.reason};
}

/// `text` in lines of `width`, each after the first behind `indent` blanks.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string lines;
  std::size_t used = 0;
  for (const std::string_view word : yaml::split_words(text)) {
    const bool fits = used == 0 || used + 1 + word.size() <= width;
    lines += used == 0 ? "" : fits ? " " : fmt::format("\n{:{}}", "", indent);
    lines += word;
    used = fits && used > 0 ? used + 1 + word.size() : word.size();
  }
  return lines;
}

/// Columns as wide as their widest text; beyond `widest` one pushes its own line alone, and reasons are wrapped.
std::string table(const std::vector<Columns>& lines, std::size_t widest) {
  constexpr std::size_t kWidth = 160;
  constexpr std::size_t kLeast = 40;  // of a reason
  std::array<std::size_t, 4> widths{};
  for (const Columns& row : lines)
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (i == 0 || row[i].size() <= widest) widths[i] = std::max(widths[i], row[i].size());
  const std::size_t indent = std::accumulate(widths.begin(), widths.end(), 3 * widths.size());
  std::string text;
  for (const Columns& row : lines) {
    const std::string head = fmt::format("{:{}} | {:{}} | {:{}} | {:{}} | ", row[0], widths[0], row[1], widths[1],
                                         row[2], widths[2], row[3], widths[3]);
    text += head + wrapped(row[4], indent, kWidth - std::min(head.size(), kWidth - kLeast)) + "\n";
  }
  return text;
}

std::string knob_table(const std::vector<Knob>& knobs) {
  std::vector<Columns> lines{{"knob", "requested", "effective", "source", "reason"}};
  for (const Knob& knob : knobs)
    if (!is_slot(knob) && !is_left_alone(knob)) lines.push_back(columns(knob));
  return table(lines, kWidest);
}

std::string slot_table(const std::vector<Knob>& knobs) {
  std::vector<Columns> lines{{"slot", "requested", "effective", "source", "reason"}};
  for (const Knob& knob : knobs)
    if (is_slot(knob)) lines.push_back(slot_columns(knob));
  return lines.size() == 1 ? "" : "\n" + table(lines, kWidestSlot);
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

std::string to_text(const Plan& plan) {
  std::string text =
      gated(plan.knobs) + knob_table(plan.knobs) + slot_table(plan.knobs) + left_alone(plan.knobs) + "\nenvironment\n";
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
