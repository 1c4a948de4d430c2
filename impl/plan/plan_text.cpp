// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "impl/plan/plan.hpp"

namespace underlap::plan {
namespace {

using Columns = std::array<std::string_view, 5>;

Columns columns(const Knob& knob) { return {knob.name, knob.requested, knob.effective, knob.source, knob.reason}; }

std::string table(const std::vector<Knob>& knobs) {
  constexpr Columns kHead = {"knob", "requested", "effective", "source", "reason"};
  std::array<std::size_t, 4> widths{};
  const auto widen = [&](const Columns& row) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  };
  widen(kHead);
  for (const Knob& knob : knobs) widen(columns(knob));
  const auto line = [&](const Columns& row) {
    return fmt::format("{:{}} | {:{}} | {:{}} | {:{}} | {}\n", row[0], widths[0], row[1], widths[1], row[2], widths[2],
                       row[3], widths[3], row[4]);
  };
  std::string text = line(kHead);
  for (const Knob& knob : knobs) text += line(columns(knob));
  return text;
}

std::string gated(const std::vector<Knob>& knobs) {
  std::string text;
  for (const Knob& knob : knobs)
    if (knob.source == "gate")
      text += fmt::format("NOT AS REQUESTED: {} was requested as {} and is {}: {}\n", knob.name, knob.requested,
                          knob.effective, knob.reason);
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
  std::string text = gated(plan.knobs) + table(plan.knobs) + "\nenvironment\n";
  for (const EnvironmentVariable& variable : plan.environment)
    text += fmt::format("  {}={}  # {}\n", variable.name, variable.value, variable.reason);
  for (const ChunkBuckets& chunk : plan.buckets)
    text += fmt::format("\nbuckets of stage {}, chunk {}\n  {} of {} elements\n", chunk.stage, chunk.chunk,
                        chunk.elements.size(), fmt::join(chunk.elements, ", "));
  const PeakMemory& peak = plan.peak_memory;
  text += fmt::format(
      "\npredicted peak memory of a rank\n  {} = parameters {} + gradients {} + optimizer {} + "
      "activations {}\n",
      mebibytes(peak.total()), mebibytes(peak.parameters), mebibytes(peak.gradients), mebibytes(peak.optimizer),
      mebibytes(peak.activations));
  text += section("notices", plan.notices) + section("not run by this version", plan.not_run);
  return text + section("errors", plan.errors);
}

}  // namespace underlap::plan
