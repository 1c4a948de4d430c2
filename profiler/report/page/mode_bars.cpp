// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/page/mode_bars.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/report/charts/chart_tables.hpp"

namespace underlap::report {
namespace {

double ms_of_mode(const analysis::FigureRow& row, ModesTable::Column column) {
  return row.figures[column].value_or(0) / 1e6;
}

page::CommunicationParts parts_of_mode(const analysis::FigureRow& row) {
  const ModeBar bar = mode_bar(row);
  return {.hidden = bar.hidden,
          .waiting = bar.waited - bar.hidden,
          .transferring = bar.transferred - bar.waited,
          .unsplit = bar.exposed - bar.transferred};
}

}  // namespace

std::string mode_bar_row(std::string_view label, const analysis::FigureRow& row, const page::Scale& scale) {
  const int digits = page::digits_for(scale.end);
  return page::picture_row(label, page::communication_bar(scale, parts_of_mode(row)),
                           fmt::format("{:.{}f} hidden, {:.{}f} exposed", ms_of_mode(row, ModesTable::hidden), digits,
                                       ms_of_mode(row, ModesTable::exposed), digits));
}

double longest_mode_bar(const analysis::FigureTable& modes) {
  double longest = 0;
  for (const analysis::FigureRow& row : modes.rows) longest = std::max(longest, mode_bar(row).exposed);
  return longest;
}

std::string mode_bar_keys(const analysis::FigureTable& modes) {
  page::CommunicationParts sum;
  for (const analysis::FigureRow& row : modes.rows) {
    const page::CommunicationParts parts = parts_of_mode(row);
    sum.waiting += parts.waiting;
    sum.transferring += parts.transferring;
    sum.unsplit += parts.unsplit;
  }
  return page::communication_keys(sum);
}

}  // namespace underlap::report
