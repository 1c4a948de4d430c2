// SPDX-License-Identifier: Apache-2.0
// The checker on recorded steps of every technique: each is well; without any one of its waits, or with any one of its
// ranges a little smaller, it is not, and the finding names the place.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "impl/device/check/accesses.hpp"
#include "impl/device/check/check.hpp"
#include "impl/step/record_programs.hpp"
#include "tests/impl/step/training.hpp"

namespace underlap {
namespace {

using check::CheckReport;
using check::Finding;
using check::FindingKind;
using Type = ProgramCommand::Type;

struct StepCase {
  std::string name;
  void (*set)(plan::Config&);
};

std::vector<StepCase> cases() {
  return {{"NothingOverlapped", [](plan::Config&) {}},
          {"OverlappedReduce", [](plan::Config& c) { c.ddp.overlap_grad_reduce = true; }},
          {"OverlappedAverage",
           [](plan::Config& c) {
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
             c.ddp.average_in_collective = true;
           }},
          {"PrefetchedGather", [](plan::Config& c) { c.ddp.overlap_param_gather = true; }},
          {"Both", [](plan::Config& c) { c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true; }},
          {"GatherOnDemand",
           [](plan::Config& c) {
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
             c.extensions.param_gather_prefetch = 0;
           }},
          {"GatherTwoAhead",
           [](plan::Config& c) {
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
             c.extensions.param_gather_prefetch = 2;
           }},
          {"Fp32Accumulation", [](plan::Config& c) { c.ddp.reduce_scatter_with_fp32_accumulation = true; }},
          {"OverlappedFp32Accumulation",
           [](plan::Config& c) {
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
             c.ddp.reduce_scatter_with_fp32_accumulation = true;
             c.ddp.average_in_collective = true;
           }},
          {"NoDistributedOptimizer",
           [](plan::Config& c) {
             c.ddp.use_distributed_optimizer = false;
             c.ddp.overlap_grad_reduce = true;
           }},
          {"AllReduceAfterBackward", [](plan::Config& c) { c.ddp.use_distributed_optimizer = false; }},
          {"TwoCommunicators",
           [](plan::Config& c) {
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
             c.extensions.separate_gather_communicator = true;
           }},
          {"TwoCommunicatorsWithoutOverlap", [](plan::Config& c) { c.extensions.separate_gather_communicator = true; }},
          {"TiedEmbedding", [](plan::Config& c) {
             c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
             c.model.share_embeddings_and_output_weights = true;
           }}};
}

// Each technique as it is, and with clipping and two microbatches.
class CheckedStep : public testing::TestWithParam<std::tuple<StepCase, bool>> {
 protected:
  CheckedStep() {
    config_ = testing_support::small_config(2);
    config_.model.num_layers = 1;
    config_.ddp.bucket_size = 8000;
    std::get<0>(GetParam()).set(config_);
    if (std::get<1>(GetParam())) {
      config_.optimizer.clip_grad = 1;
      config_.train.num_microbatches = 2;
    }
    programs_ = record_programs(config_, 3);
  }

  // Rank 1 is the one that is damaged.
  Program& damaged() { return programs_[1]; }
  std::string text(const ProgramCommand& command) { return describe(damaged(), command); }
  std::string all(const CheckReport& report) const {
    std::string lines;
    for (const Finding& finding : report.findings)
      lines += fmt::format("{}: {}\n", check::to_string(finding.kind), finding.what);
    return lines.empty() ? "nothing found" : lines;
  }

  plan::Config config_;
  std::vector<Program> programs_;
};

INSTANTIATE_TEST_SUITE_P(Techniques, CheckedStep, testing::Combine(testing::ValuesIn(cases()), testing::Bool()),
                         [](const auto& parameter) {
                           return std::get<0>(parameter.param).name + (std::get<1>(parameter.param) ? "Clipped" : "");
                         });

TEST_P(CheckedStep, IsWell) {
  const CheckReport report = check::check_programs(programs_);
  EXPECT_TRUE(report.findings.empty()) << all(report);
}

TEST_P(CheckedStep, IsWellWithoutItsPaces) {
  for (Program& program : programs_)
    for (ProgramCommand& command : program.commands)
      if (command.type == Type::pace) command.awaited_position = 0;
  const CheckReport report = check::check_programs(programs_);
  EXPECT_TRUE(report.findings.empty()) << all(report);
}

// Whether the first of a finding's commands is what the wait is for, and the second is behind the wait.
bool is_ordered_by(const check::ProgramIndex& index, std::uint32_t wait, std::uint64_t position, const Finding& race) {
  const ProgramCommand& first = index.command(race.commands[0].index);
  const ProgramCommand& second = index.command(race.commands[1].index);
  return race.commands[0].rank == 1 && first.stream == index.command(wait).awaited_stream &&
         index.position(race.commands[0].index) <= position && second.stream == index.command(wait).stream &&
         race.commands[1].index > wait;
}

TEST_P(CheckedStep, NeedsEachOfItsWaits) {
  for (std::uint32_t i = 0; i < damaged().commands.size(); ++i) {
    ProgramCommand& wait = damaged().commands[i];
    if (wait.type != Type::wait) continue;
    const std::uint64_t position = std::exchange(wait.awaited_position, 0);
    const check::ProgramIndex index(damaged());
    const CheckReport report = check::check_programs(programs_, {.connections = {}});
    const auto num_races = std::count_if(report.findings.begin(), report.findings.end(),
                                         [](const Finding& f) { return f.kind == FindingKind::race; });
    EXPECT_GT(num_races, 0) << "command " << i << ", " << text(wait) << ", is redundant: " << all(report);
    for (const Finding& finding : report.findings) {
      if (finding.kind != FindingKind::race) continue;
      EXPECT_TRUE(is_ordered_by(index, i, position, finding)) << "command " << i << ", " << text(wait) << all(report);
    }
    wait.awaited_position = position;
  }
}

// Takes the last row off, or the last column of a single row. Returns what is gone.
View shrink(View& view) {
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

// Whether anything reads `view` after command `c` and before it is written again.
bool is_read_later(const Program& program, std::uint32_t c, const View& view) {
  for (std::uint32_t later = c + 1; later < program.commands.size(); ++later) {
    const auto accesses = check::accesses_of(program, program.commands[later]);
    const auto meets = [&](bool reads) {
      return std::any_of(accesses.begin(), accesses.end(), [&](const check::MemoryAccess& access) {
        return (reads ? access.reads : access.writes) && overlap(access.view, view);
      });
    };
    if (meets(true)) return true;
    if (meets(false)) return false;
  }
  return false;
}

TEST_P(CheckedStep, NeedsAllOfEachRange) {
  std::vector<std::pair<View*, std::uint32_t>> views;
  for (std::uint32_t c = 0; c < damaged().commands.size(); ++c) {
    const ProgramCommand& command = damaged().commands[c];
    if (command.tag.step == 1) continue;  // it is as step 2
    for (std::uint32_t i = command.first; i < command.first + command.count; ++i) {
      if (command.type != Type::communicate) {
        views.emplace_back(&damaged().all_uses[i].view, c);
        continue;
      }
      views.emplace_back(&damaged().all_transfers[i].input, c);
      views.emplace_back(&damaged().all_transfers[i].output, c);
    }
  }
  for (const auto& [view, c] : views) {
    const View whole = *view;
    const View gone = shrink(*view);
    const ProgramCommand& command = damaged().commands[c];
    const CheckReport report = check::check_programs(programs_, {.connections = {}});
    const bool is_named =
        std::any_of(report.findings.begin(), report.findings.end(), [&, number = c](const Finding& f) {
          return std::find(f.commands.begin(), f.commands.end(), check::CommandPlace{1, number}) != f.commands.end();
        });
    // Of initial weights a rank's own shards are read; the first gather writes the others before anybody reads them.
    const bool is_seen_by_nobody = command.tag.step < 0 && !is_read_later(damaged(), c, gone);
    EXPECT_NE(is_named, is_seen_by_nobody) << text(command) << " lacks " << check::text_of(damaged(), gone) << "\n"
                                           << all(report);
    *view = whole;
  }
}

}  // namespace
}  // namespace underlap
