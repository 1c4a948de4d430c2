// SPDX-License-Identifier: Apache-2.0
// The checker against the simulator: where a run in virtual time meets two conflicting uses at once, with whatever
// durations, the checker must have found the race.
#include "tests/impl/cp/virtual_attention.hpp"
#include "tests/impl/damage.hpp"

namespace underlap::cp {
namespace {

using Type = ProgramCommand::Type;

constexpr std::size_t kDamagedRank = 1;  // the rank whose program is made wrong

class TaintedAttention : public testing::TestWithParam<CpCase> {
 protected:
  bool meets_a_conflict(const std::vector<Program>& programs) const {
    for (const std::int64_t hop_ns : {10, 300, 9000})
      for (const std::uint64_t seed : {1, 2})
        if (conflicts(programs, hop_ns, seed) > 0) return true;
    return false;
  }

 private:
  std::int64_t conflicts(const std::vector<Program>& programs, std::int64_t hop_ns, std::uint64_t seed) const {
    const AttentionCase c{.cp = GetParam(),
                          .tile_ns = 400,
                          .backward_tile_ns = 800,
                          .hop_ns = hop_ns,
                          .collective_ns = hop_ns,
                          .other_ns = 20};
    const AttentionTimes times(c);
    return testing_support::conflicts_in_virtual_time(programs, times, seed);
  }
};
INSTANTIATE_TEST_SUITE_P(Techniques, TaintedAttention, testing::ValuesIn(overlapped_cases()), CpCaseName());

TEST_P(TaintedAttention, MeetsNoConflictThatTheCheckerDidNotFind) {
  std::vector<Program> programs = VirtualAttention({.cp = GetParam(), .layers = 2}).record(1);
  EXPECT_FALSE(meets_a_conflict(programs));
  int num_met = 0;
  for (std::size_t i = 0; i < programs[kDamagedRank].commands.size(); ++i) {
    ProgramCommand& wait = programs[kDamagedRank].commands[i];
    if (wait.type != Type::wait) continue;
    const std::uint64_t position = std::exchange(wait.awaited_position, 0);
    if (meets_a_conflict(programs)) {
      ++num_met;
      EXPECT_TRUE(testing_support::has_race(programs, {.connections = {}}))
          << describe(programs[kDamagedRank], wait) << " at " << i;
    }
    wait.awaited_position = position;
  }
  EXPECT_GT(num_met, 0) << "some races show";
}

}  // namespace
}  // namespace underlap::cp
