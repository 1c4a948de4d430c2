// SPDX-License-Identifier: Apache-2.0
// The checker on recorded steps of every context-parallel technique: each is well; without any one of its waits, or
// with any one of its ranges a little smaller, it is not, and the finding names the place.
#include <set>

#include "tests/impl/cp/virtual_attention.hpp"
#include "tests/impl/damage.hpp"

namespace underlap::cp {
namespace {

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
  std::vector<Program> programs_;
};

INSTANTIATE_TEST_SUITE_P(Techniques, CheckedAttention, testing::ValuesIn(all_cases()), CpCaseName());

TEST_P(CheckedAttention, IsWellOnAnyNumberOfQueuesAlsoWithoutItsPaces) {
  for (const std::uint32_t depth : {1024U, 8U})
    testing_support::expect_well(programs_, {.connections = {0, 32, 8, 1}, .launch_queue_depth = depth});
  testing_support::drop_paces(programs_);
  testing_support::expect_well(programs_, {.connections = {}});
}

// In every layer, or in those that are not the first of their pass: before a first backward, forward has seen to it
// that buffers of backward are free.
TEST_P(CheckedAttention, NeedsEachOfItsWaits) {
  std::map<std::pair<Direction, int>, std::string> redundant;  // by place in the pass: what was found without it
  std::set<std::pair<Direction, int>> needed;
  std::pair<Direction, int> place;
  for (std::uint32_t i = 0; i < damaged().commands.size(); ++i) {
    const ProgramCommand& wait = damaged().commands[i];
    if (wait.type == Type::launch && wait.name == intern("pass")) place = {wait.tag.direction, 0};
    if (wait.type != Type::wait || !testing_support::is_of_technique(damaged(), wait)) continue;
    ++place.second;
    const testing_support::WithoutWait without = testing_support::without_wait(programs_, kDamaged, i);
    if (without.is_needed) needed.insert(place);
    redundant[place] = without.text;
  }
  EXPECT_FALSE(needed.empty());
  for (const auto& [where, text] : redundant) EXPECT_TRUE(needed.contains(where)) << text;
}

TEST_P(CheckedAttention, NeedsAllOfEachRange) {
  const auto ranges = testing_support::ranges_of(damaged(), [](const auto& command) { return command.tag.step == 1; });
  testing_support::expect_all_needed(programs_, kDamaged, ranges);
}

}  // namespace
}  // namespace underlap::cp
