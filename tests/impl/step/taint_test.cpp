// SPDX-License-Identifier: Apache-2.0
// The checker against the simulator: where a run in virtual time meets two conflicting uses at once, with whatever
// durations, the checker must have found the race.
#include "impl/step/record_programs.hpp"
#include "tests/impl/damage.hpp"
#include "tests/impl/step/step_times.hpp"

namespace underlap {
namespace {

using Type = ProgramCommand::Type;

std::int64_t conflicts(const std::vector<Program>& programs, double ns_per_byte, std::uint64_t seed) {
  const testing_support::StepTimes times(ns_per_byte);
  return testing_support::conflicts_in_virtual_time(programs, times, seed);
}

bool meets_a_conflict(const std::vector<Program>& programs) {
  for (const double ns_per_byte : {0.1, 3.0, 30.0})
    for (const std::uint64_t seed : {1, 2})
      if (conflicts(programs, ns_per_byte, seed) > 0) return true;
  return false;
}

TEST(TaintAndChecker, WhatARunMeetsTheCheckerHasFound) {
  plan::Config config = testing_support::small_config(2);
  config.model.num_layers = 1;
  config.ddp.bucket_size = 8000;
  config.ddp.overlap_grad_reduce = config.ddp.overlap_param_gather = true;
  const std::vector<Program> right = record_programs(config, 2, Detail::operations);
  EXPECT_FALSE(testing_support::has_race(right));
  EXPECT_FALSE(meets_a_conflict(right));
  int num_waits = 0;
  int num_met = 0;
  for (std::size_t i = 0; i < right[0].commands.size(); ++i) {
    if (right[0].commands[i].type != Type::wait) continue;
    std::vector<Program> programs = right;
    for (Program& program : programs) program.commands[i].awaited_position = 0;  // passes at once
    const bool is_met = meets_a_conflict(programs);
    ++num_waits;
    num_met += is_met ? 1 : 0;
    EXPECT_TRUE(!is_met || testing_support::has_race(programs))
        << describe(right[0], right[0].commands[i]) << " at " << i;
  }
  EXPECT_GT(num_met, num_waits / 2) << "most races show at some length of transfers";
}

}  // namespace
}  // namespace underlap
