// SPDX-License-Identifier: Apache-2.0
// The checker on recorded steps of every context-parallel technique: each is well; without any one of its waits, or
// with any one of its ranges a little smaller, it is not, and the finding names the place.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/impl/cp/virtual_attention.hpp"
#include "tests/impl/damage.hpp"

namespace underlap::cp {
namespace {

using check::CheckReport;
using check::Finding;
using check::FindingKind;
using testing_support::text_of;
using Type = ProgramCommand::Type;

constexpr std::int32_t kDamaged = 1;  // the rank whose program is made wrong

// Steps of two context-parallel groups, whose ranks of the same place are a data-parallel group.
class CheckedAttention : public testing::TestWithParam<CpCase> {
 protected:
  CheckedAttention() {
    const AttentionCase c{.cp = GetParam(), .sequences = 2, .layers = 2};
    programs_ = VirtualAttention(c).record(2, 2);
  }

  Program& damaged() { return programs_[kDamaged]; }
  // What orders the technique's own work; what the data-parallel group adds around it is not the technique's.
  bool is_of_technique(const ProgramCommand& command) {
    const auto is_dp = [&](std::uint32_t stream) { return damaged().streams[stream].name == "dp"; };
    return !is_dp(command.stream) && !(command.type == Type::wait && is_dp(command.awaited_stream));
  }

  std::vector<Program> programs_;
};

INSTANTIATE_TEST_SUITE_P(Techniques, CheckedAttention, testing::ValuesIn(all_cases()), CpCaseName());

TEST_P(CheckedAttention, IsWellOnAnyNumberOfQueuesAlsoWithoutItsPaces) {
  for (const std::uint32_t depth : {1024U, 8U}) {
    const CheckReport report =
        check::check_programs(programs_, {.connections = {0, 32, 8, 1}, .launch_queue_depth = depth});
    EXPECT_TRUE(report.findings.empty()) << text_of(report);
  }
  for (Program& program : programs_)
    for (ProgramCommand& command : program.commands)
      if (command.type == Type::throttle) command.awaited_position = 0;
  const CheckReport without = check::check_programs(programs_, {.connections = {}});
  EXPECT_TRUE(without.findings.empty()) << text_of(without);
}

// In every layer, or in those that are not the first of their pass: before a first backward, forward has seen to it
// that buffers of backward are free.
TEST_P(CheckedAttention, NeedsEachOfItsWaits) {
  std::map<std::pair<Direction, int>, std::string> redundant;  // by place in the pass: what was found without it
  std::set<std::pair<Direction, int>> needed;
  std::pair<Direction, int> place;
  for (std::uint32_t i = 0; i < damaged().commands.size(); ++i) {
    ProgramCommand& wait = damaged().commands[i];
    if (wait.type == Type::launch && wait.name == intern("pass")) place = {wait.tag.direction, 0};
    if (wait.type != Type::wait || !is_of_technique(wait)) continue;
    ++place.second;
    const std::uint64_t position = std::exchange(wait.awaited_position, 0);
    const check::ProgramIndex index(damaged());
    const CheckReport report = check::check_programs(programs_, {.connections = {}});
    const auto is_what_it_ordered = [&](const Finding& f) {
      return f.kind == FindingKind::race && testing_support::is_ordered_by(index, kDamaged, i, position, f);
    };
    if (std::any_of(report.findings.begin(), report.findings.end(), is_what_it_ordered)) needed.insert(place);
    redundant[place] = "command " + std::to_string(i) + ", " + describe(damaged(), wait) + ": " + text_of(report);
    wait.awaited_position = position;
  }
  EXPECT_FALSE(needed.empty());
  for (const auto& [where, text] : redundant) EXPECT_TRUE(needed.contains(where)) << text << " is redundant";
}

TEST_P(CheckedAttention, NeedsAllOfEachRange) {
  std::vector<std::pair<View*, std::uint32_t>> views;
  for (std::uint32_t c = 0; c < damaged().commands.size(); ++c) {
    const ProgramCommand& command = damaged().commands[c];
    if (command.tag.step != 1) continue;
    for (std::uint32_t i = command.first; i < command.first + command.count; ++i) {
      if (command.type != Type::communicate) {
        views.emplace_back(&damaged().all_uses[i].view, c);
        continue;
      }
      Transfer& transfer = damaged().all_transfers[i];
      for (View* const view : {&transfer.input, &transfer.output})
        if (view->tensor.id != 0) views.emplace_back(view, c);
    }
  }
  for (const auto& [view, c] : views) {
    const View whole = *view;
    const View gone = testing_support::shrink(*view);
    const CheckReport report = check::check_programs(programs_, {.connections = {}});
    EXPECT_TRUE(testing_support::is_named(report, {kDamaged, c}))
        << describe(damaged(), damaged().commands[c]) << " lacks " << check::text_of(damaged(), gone) << "\n"
        << text_of(report);
    *view = whole;
  }
}

}  // namespace
}  // namespace underlap::cp
