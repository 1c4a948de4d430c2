// SPDX-License-Identifier: Apache-2.0
// The checker on recorded steps of every pipeline technique: each is well; without any one of its waits, or with any
// one of its ranges a little smaller, it is not, and the finding names the place.
#include "tests/impl/damage.hpp"
#include "tests/impl/pp/techniques.hpp"

namespace underlap::pp {
namespace {

using Type = ProgramCommand::Type;

struct CheckedCase {
  TechniqueCase technique;
  std::int32_t num_stages;
};

void PrintTo(const CheckedCase& c, std::ostream* out) { *out << c.technique.name << c.num_stages; }

std::vector<CheckedCase> checked_cases() {
  std::vector<CheckedCase> all;
  for (const TechniqueCase& technique : technique_cases())
    for (const std::int32_t num_stages : {2, 3})
      if (num_stages >= technique.fewest_stages) all.push_back({technique, num_stages});
  return all;
}

// Two pipelines, whose equal stages are a data-parallel group.
class CheckedPipeline : public testing::TestWithParam<CheckedCase> {
 protected:
  static constexpr std::int32_t kNumData = 2;

  void record(std::int32_t num_steps) {
    const auto& [technique, num_stages] = GetParam();
    PipelineCase c = technique.of(num_stages, 2 * num_stages);
    c.num_data = kNumData;
    programs_ = VirtualPipeline(c).programs(num_steps);
  }
  /// The first pipeline's ranks, whose programs are made wrong one after the other.
  std::vector<std::int32_t> damaged() const {
    std::vector<std::int32_t> ranks;
    for (std::int32_t r = 0; r < std::ssize(programs_); r += kNumData * GetParam().technique.num_tensor)
      ranks.push_back(r);
    return ranks;
  }
  Program& program(std::int32_t rank) { return programs_[static_cast<std::size_t>(rank)]; }

  // What orders the technique's own work, and what it adds around it is not the technique's. In the last step nobody
  // uses again what a wait keeps free.
  bool is_of_technique(const Program& p, const ProgramCommand& command) const {
    const auto is_own = [&](std::uint32_t stream) { return p.streams[stream].name.starts_with("pp"); };
    return is_own(command.stream) || (command.type == Type::wait && is_own(command.awaited_stream));
  }
  static std::size_t end_of_step(const Program& p, std::int32_t step) {
    const auto is_mark = [&](const ProgramCommand& c) { return c.type == Type::mark && c.tag.step == step; };
    return static_cast<std::size_t>(std::find_if(p.commands.begin(), p.commands.end(), is_mark) - p.commands.begin());
  }

  std::vector<Program> programs_;
};

INSTANTIATE_TEST_SUITE_P(Techniques, CheckedPipeline, testing::ValuesIn(checked_cases()), [](const auto& checked) {
  return checked.param.technique.name + std::to_string(checked.param.num_stages);
});

TEST_P(CheckedPipeline, IsWellAlsoWithoutItsPaces) {
  record(3);
  testing_support::expect_well_also_without_paces(programs_);
}

TEST_P(CheckedPipeline, NeedsEachOfItsWaits) {
  record(3);
  int num_waits = 0;
  for (const std::int32_t rank : damaged()) {
    const std::size_t end = end_of_step(program(rank), 1);
    for (std::uint32_t i = 0; i < end; ++i) {
      const ProgramCommand& wait = program(rank).commands[i];
      if (wait.type != Type::wait || !is_of_technique(program(rank), wait)) continue;
      ++num_waits;
      const testing_support::WithoutWait without = testing_support::without_wait(programs_, rank, i);
      EXPECT_TRUE(without.is_needed) << without.text;
    }
  }
  EXPECT_GT(num_waits, 0);
}

TEST_P(CheckedPipeline, NeedsAllOfEachRange) {
  record(1);
  for (const std::int32_t rank : damaged())
    testing_support::expect_all_needed(programs_, rank,
                                       testing_support::ranges_of(program(rank), [](const ProgramCommand& command) {
                                         return command.type == Type::communicate && command.tag.mode == Mode::pp;
                                       }));
}

}  // namespace
}  // namespace underlap::pp
