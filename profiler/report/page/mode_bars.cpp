// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/page/mode_bars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "profiler/report/charts/chart_tables.hpp"

namespace underlap::report {
namespace {

double ms_of_mode(const analysis::FigureRow& row, ModesTable::Column column) {
  return row.figures[column].value_or(0) / 1e6;
}

}  // namespace

std::string mode_bar_row(std::string_view label, const analysis::FigureRow& row, const page::Scale& scale) {
  const ModeBar bar = mode_bar(row);
  const std::array<page::BarPart, 4> parts{
      {{"hidden", "", bar.hidden, "hidden"},
       {"exposed", "stripes", bar.waited - bar.hidden, "exposed, waiting"},
       {"exposed", "", bar.transferred - bar.waited, "exposed, transferring"},
       {"exposed", "dots", bar.exposed - bar.transferred, "exposed, last arrival unknown"}}};
  const int digits = page::digits_for(scale.end);
  return page::picture_row(label, page::stacked(scale, parts),
                           fmt::format("{:.{}f} hidden, {:.{}f} exposed", ms_of_mode(row, ModesTable::hidden), digits,
                                       ms_of_mode(row, ModesTable::exposed), digits));
}

double longest_mode_bar(const analysis::FigureTable& modes) {
  double longest = 0;
  for (const analysis::FigureRow& row : modes.rows) longest = std::max(longest, mode_bar(row).exposed);
  return longest;
}

std::string mode_bar_keys(const analysis::FigureTable& modes) {
  const auto has = [&](ModesTable::Column column) {
    return std::ranges::any_of(modes.rows, [&](const analysis::FigureRow& row) { return ms_of_mode(row, column) > 0; });
  };
  std::string keys = page::key("hidden", "", "hidden under compute");
  if (has(ModesTable::wait)) keys += page::key("exposed", "stripes", "exposed, waiting");
  if (has(ModesTable::transfer)) keys += page::key("exposed", "", "exposed, transferring");
  if (has(ModesTable::unsplit)) keys += page::key("exposed", "dots", "exposed, last arrival unknown");
  return keys;
}

}  // namespace underlap::report
