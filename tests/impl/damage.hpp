// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "impl/device/check/accesses.hpp"
#include "impl/device/check/check.hpp"

/// Recorded programs made wrong on purpose, and whether the checker says what is wrong.
namespace underlap::testing_support {

inline std::string text_of(const check::CheckReport& report) {
  std::string lines;
  for (const check::Finding& finding : report.findings)
    lines += fmt::format("{}: {}\n", check::to_string(finding.kind), finding.what);
  return lines.empty() ? "nothing found" : lines;
}

/// Whether the first of a finding's commands, on `rank`, is what the command `wait` waited for at `position`, and the
/// second is behind it.
inline bool is_ordered_by(const check::ProgramIndex& index, std::int32_t rank, std::uint32_t wait,
                          std::uint64_t position, const check::Finding& race) {
  const ProgramCommand& first = index.command(race.commands[0].index);
  const ProgramCommand& second = index.command(race.commands[1].index);
  return race.commands[0].rank == rank && first.stream == index.command(wait).awaited_stream &&
         index.position(race.commands[0].index) <= position && second.stream == index.command(wait).stream &&
         race.commands[1].index > wait;
}

inline bool is_named(const check::CheckReport& report, check::CommandPlace place) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const check::Finding& f) {
    return std::find(f.commands.begin(), f.commands.end(), place) != f.commands.end();
  });
}

/// Takes the last row off, or the last column of a single row. Returns what is gone.
inline View shrink(View& view) {
  View gone = view;
  if (view.rows > 1) {
    gone.offset += --view.rows * view.leading_dimension;
    gone.rows = 1;
  } else {
    gone.offset += --view.cols;
    gone.cols = 1;
  }
  return gone;
}

}  // namespace underlap::testing_support
