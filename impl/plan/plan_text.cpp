// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/plan_text.hpp"

#include <fmt/format.h>

#include <string_view>

#include "impl/plan/plan_words.hpp"

namespace underlap::plan {
namespace {

Table empty_table(const char* what) {
  constexpr int kWidest = 50;  // long enough for every preset's name

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
    // Do not repeat a long value that equals the request.
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
      table.rows.push_back({{knob.name.substr(kSlotSection.size())},
                            {slot_text(knob.requested)},
                            {slot_text(knob.effective)},
                            {knob.source},
                            {knob.reason}});
  return table;
}

/// "name = value", several on each line, for quick reading.
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
  text += "\npredicted peak GPU memory per rank\n";
  text += wrap(fmt::format("  {}", memory_text(plan.peak_memory)), format.width, "    ");
  text += section("exposed", plan.exposed) + section("contradictions", plan.contradictions);
  text += section("notices", plan.notices) + section("not run by this version", plan.not_run);
  return text + section("errors", plan.errors);
}

}  // namespace underlap::plan
