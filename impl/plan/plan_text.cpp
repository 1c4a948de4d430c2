// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/plan_text.hpp"

#include <fmt/format.h>

#include "impl/plan/plan_words.hpp"

namespace underlap::plan {
namespace {

// A place or a reason without the folders of the configuration's file, which tables have no room for.
std::string without_folder(std::string text, const std::string& place) {
  const std::size_t folder = place.rfind('/') + 1;  // 0 if there is none
  for (std::size_t at = text.find(place); folder > 0 && at != std::string::npos; at = text.find(place, at))
    text.erase(at, folder);
  return text;
}

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
                          {without_folder(knob.reason, knob.where)}});
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
                            {without_folder(knob.reason, knob.where)}});
  return table;
}

/// "name = value", several on each line, for quick reading.
std::string left_alone(const std::vector<Knob>& knobs, int width) {
  const auto most = static_cast<std::size_t>(width);
  std::string text;
  std::size_t used = most;
  for (const Knob& knob : knobs) {
    if (!is_left_alone(knob)) continue;
    const std::string word = fmt::format("{} = {}", knob.name, to_json_text(knob.effective));
    const bool fits = used + 2 + word.size() < most;
    text += (fits ? ", " : text.empty() ? "  " : ",\n  ") + word;
    used = fits ? used + 2 + word.size() : 2 + word.size();
  }
  return text.empty() ? "" : fmt::format("\nleft at their defaults\n{}\n", text);
}

std::string gated(const std::vector<Knob>& knobs) {
  std::string text;
  for (const Knob& knob : knobs)
    if (knob.source == "gate")
      text += fmt::format("NOT AS REQUESTED: {} was requested as {} but is {}: {}\n", knob.name,
                          slot_text(knob.requested), slot_text(knob.effective), knob.reason);
  return text.empty() ? text : text + "\n";
}

std::string section(std::string_view title, const std::vector<Message>& messages, int width) {
  std::string text;
  for (const Message& message : messages)
    text += wrap(fmt::format("  {}: {}", without_folder(message.where, message.where), message.message), width, "    ");
  return text.empty() ? text : fmt::format("\n{}\n{}", title, text);
}

}  // namespace

std::string to_text(const Plan& plan, const TableFormat& format) {
  const Table slots = slot_table(plan.knobs);
  std::string text = gated(plan.knobs) + render(knob_table(plan.knobs), format) +
                     (slots.rows.empty() ? "" : "\n" + render(slots, format)) + left_alone(plan.knobs, format.width) +
                     "\nenvironment\n";
  for (const EnvironmentVariable& variable : plan.environment)
    text += wrap(fmt::format("  {}={}  # {}", variable.name, variable.value, variable.reason), format.width, "    # ");
  for (const ChunkBuckets& chunk : plan.buckets)
    text += fmt::format("\nbuckets of stage {}, chunk {}\n", chunk.stage, chunk.chunk) +
            wrap(fmt::format("  {} of {} elements", chunk.elements.size(), fmt::join(chunk.elements, ", ")),
                 format.width, "    ");
  text += "\npredicted peak GPU memory per rank\n";
  text += wrap(fmt::format("  {}", memory_text(plan.peak_memory)), format.width, "    ");
  const auto add = [&](std::string_view title, const std::vector<Message>& messages) {
    text += section(title, messages, format.width);
  };
  add("exposed", plan.exposed);
  add("contradictions", plan.contradictions);
  add("notices", plan.notices);
  add("cannot run here", plan.not_run);
  add("errors", plan.errors);
  return text;
}

}  // namespace underlap::plan
