// SPDX-License-Identifier: Apache-2.0
#include "viewer/charts/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace underlap::viewer {
namespace {

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string with_name(const std::string& text, const std::string& name) {
  return name.empty() ? text : text + ", " + name;
}

}  // namespace

ChartFigures headed(const std::string& title, const std::string& how, const std::string& of) {
  ChartFigures figures;
  figures.title = how.starts_with("simulated") ? title + " (simulated)" : title;
  figures.subtitle = how.empty() || of.empty() ? how + of : how + "; " + of;
  return figures;
}

std::string run_text(const ChartInput& input) {
  return with_name(counted(static_cast<std::size_t>(input.run->blocks_done), "block"), input.name);
}

std::string trace_text(const ChartInput& input) {
  const auto& ranks = input.summary->shown();
  std::size_t steps = 0;
  for (const analysis::RankSummary& rank : ranks) steps = std::max(steps, rank.windows.size());
  const std::string text = counted(ranks.size(), "rank");
  return with_name(input.summary->shows_steps() ? text + ", " + counted(steps, "step") : text + ", no steps",
                   input.name);
}

}  // namespace underlap::viewer
