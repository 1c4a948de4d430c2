// SPDX-License-Identifier: Apache-2.0
// The checker on recorded steps of every pipeline technique: each is well; without any one of its waits, or with any
// one of its ranges a little smaller, it is not, and the finding names the place.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/impl/damage.hpp"
#include "tests/impl/pp/techniques.hpp"

namespace underlap::pp {
namespace {

using check::CheckReport;
using check::Finding;
using check::FindingKind;
using testing_support::text_of;
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
  const CheckReport report = check::check_programs(programs_);
  EXPECT_TRUE(report.findings.empty()) << text_of(report);
  for (Program& p : programs_)
    for (ProgramCommand& command : p.commands)
      if (command.type == Type::throttle) command.awaited_position = 0;
  const CheckReport without = check::check_programs(programs_, {.connections = {}});
  EXPECT_TRUE(without.findings.empty()) << text_of(without);
}

TEST_P(CheckedPipeline, NeedsEachOfItsWaits) {
  record(3);
  int num_waits = 0;
  for (const std::int32_t rank : damaged()) {
    const std::size_t end = end_of_step(program(rank), 1);
    for (std::uint32_t i = 0; i < end; ++i) {
      ProgramCommand& wait = program(rank).commands[i];
      if (wait.type != Type::wait || !is_of_technique(program(rank), wait)) continue;
      ++num_waits;
      const std::uint64_t position = std::exchange(wait.awaited_position, 0);
      const check::ProgramIndex index(program(rank));
      const CheckReport report = check::check_programs(programs_, {.connections = {}});
      const auto is_what_it_ordered = [&](const Finding& f) {
        const bool is_order = f.kind == FindingKind::race || f.kind == FindingKind::released_in_use;
        return is_order && testing_support::is_ordered_by(index, rank, i, position, f);
      };
      EXPECT_TRUE(std::any_of(report.findings.begin(), report.findings.end(), is_what_it_ordered))
          << "rank " << rank << " command " << i << ", " << describe(program(rank), wait)
          << " is redundant: " << text_of(report);
      wait.awaited_position = position;
    }
  }
  EXPECT_GT(num_waits, 0);
}

TEST_P(CheckedPipeline, NeedsAllOfEachRange) {
  record(1);
  for (const std::int32_t rank : damaged()) {
    Program& p = program(rank);
    const std::size_t end = end_of_step(p, 0);
    for (std::uint32_t c = 0; c < end; ++c) {
      const ProgramCommand& command = p.commands[c];
      if (command.type != Type::communicate || command.tag.mode != Mode::pp) continue;
      for (std::uint32_t i = command.first; i < command.first + command.count; ++i)
        for (View* const view : {&p.all_transfers[i].input, &p.all_transfers[i].output}) {
          if (view->tensor.id == 0) continue;
          const View whole = *view;
          const View gone = testing_support::shrink(*view);
          const CheckReport report = check::check_programs(programs_, {.connections = {}});
          EXPECT_TRUE(testing_support::is_named(report, {rank, c}))
              << describe(p, command) << " lacks " << check::text_of(p, gone) << "\n"
              << text_of(report);
          *view = whole;
        }
    }
  }
}

}  // namespace
}  // namespace underlap::pp
