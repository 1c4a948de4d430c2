// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

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
inline bool is_ordered_by(const ProgramIndex& index, std::int32_t rank, std::uint32_t wait, std::uint64_t position,
                          const check::Finding& race) {
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

inline void expect_well(const std::vector<Program>& programs, const check::CheckOptions& options = {}) {
  const check::CheckReport report = check::check_programs(programs, options);
  EXPECT_TRUE(report.findings.empty()) << text_of(report);
}

inline bool has_race(const std::vector<Program>& programs, const check::CheckOptions& options = {}) {
  const check::CheckReport report = check::check_programs(programs, options);
  return std::ranges::any_of(report.findings, [](const auto& f) { return f.kind == check::FindingKind::race; });
}

/// Lets every throttle pass at once.
inline void drop_paces(std::vector<Program>& programs) {
  for (Program& program : programs)
    for (ProgramCommand& command : program.commands)
      if (command.type == ProgramCommand::Type::throttle) command.awaited_position = 0;
}

/// As they are, and on any number of queues without throttles.
inline void expect_well_also_without_paces(std::vector<Program>& programs) {
  expect_well(programs);
  drop_paces(programs);
  expect_well(programs, {.connections = {}});
}

/// What the checker finds where one wait passes at once.
struct WithoutWait {
  bool is_needed = false;  ///< it finds what the wait had ordered
  std::string text;        ///< names the wait and all findings
};

inline WithoutWait without_wait(std::vector<Program>& programs, std::int32_t rank, std::uint32_t command) {
  Program& program = programs[static_cast<std::size_t>(rank)];
  ProgramCommand& wait = program.commands[command];
  const std::uint64_t position = std::exchange(wait.awaited_position, 0);
  const ProgramIndex index(program);
  const check::CheckReport report = check::check_programs(programs, {.connections = {}});
  const bool is_needed = std::ranges::any_of(report.findings, [&](const check::Finding& f) {
    const bool is_order = f.kind == check::FindingKind::race || f.kind == check::FindingKind::released_in_use;
    return is_order && is_ordered_by(index, rank, command, position, f);
  });
  wait.awaited_position = position;
  return {is_needed, fmt::format("rank {} command {}, {} is redundant: {}", rank, command, describe(program, wait),
                                 text_of(report))};
}

/// Whether a command orders a technique's own work, and not what a data-parallel group adds around it.
inline bool is_of_technique(const Program& program, const ProgramCommand& command) {
  const auto is_dp = [&](std::uint32_t stream) { return program.streams[stream].name == "dp"; };
  return !is_dp(command.stream) && !(command.type == ProgramCommand::Type::wait && is_dp(command.awaited_stream));
}

/// A range that a command uses, and the command.
using Range = std::pair<View*, std::uint32_t>;

/// The ranges of the commands that `is_meant`.
inline std::vector<Range> ranges_of(Program& program, const std::function<bool(const ProgramCommand&)>& is_meant) {
  std::vector<Range> ranges;
  for (std::uint32_t c = 0; c < program.commands.size(); ++c) {
    const ProgramCommand& command = program.commands[c];
    if (!is_meant(command)) continue;
    for (std::uint32_t i = command.first; i < command.first + command.count; ++i) {
      if (command.type != ProgramCommand::Type::communicate) {
        ranges.emplace_back(&program.all_uses[i].view, c);
        continue;
      }
      for (View* const view : {&program.all_transfers[i].input, &program.all_transfers[i].output})
        if (view->tensor.id != 0) ranges.emplace_back(view, c);
    }
  }
  return ranges;
}

/// Makes one range after the other a little smaller, and expects that a finding names its command.
/// Of one that `is_unseen` the checker finds nothing.
inline void expect_all_needed(
    std::vector<Program>& programs, std::int32_t rank, const std::vector<Range>& ranges,
    const std::function<bool(std::uint32_t, const View&)>& is_unseen = [](auto, const auto&) { return false; }) {
  const Program& program = programs[static_cast<std::size_t>(rank)];
  for (const auto& [view, command] : ranges) {
    const View whole = *view;
    const View gone = shrink(*view);
    const check::CheckReport report = check::check_programs(programs, {.connections = {}});
    EXPECT_NE(is_named(report, {rank, command}), is_unseen(command, gone))
        << describe(program, program.commands[command]) << " lacks " << check::text_of(program, gone) << "\n"
        << text_of(report);
    *view = whole;
  }
}

}  // namespace underlap::testing_support
