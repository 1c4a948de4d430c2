// SPDX-License-Identifier: Apache-2.0
// The checker on recorded steps of every tensor-parallel technique: each is well; without any one of its waits, or with
// any one of its ranges a little smaller, it is not, and the finding names the place.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/impl/damage.hpp"
#include "tests/impl/tp/virtual_slot.hpp"

namespace underlap::tp {
namespace {

using check::CheckReport;
using check::Finding;
using check::FindingKind;
using plan::TensorMethod;
using testing_support::text_of;
using Type = ProgramCommand::Type;

constexpr std::int32_t kDamaged = 1;  // the rank whose program is made wrong

struct CheckCase {
  std::string name;
  SlotKind kind;
  plan::TensorSlotOverlap overlap;
};

void PrintTo(const CheckCase& c, std::ostream* out) { *out << c.name; }

std::vector<CheckCase> cases() {
  const plan::TensorSlotOverlap ring{.method = TensorMethod::ring_exchange};
  return {
      {"BlockingGather", SlotKind::gather, {.method = TensorMethod::waited}},
      {"RingGather", SlotKind::gather, ring},
      {"AggregateGather", SlotKind::gather, {.method = TensorMethod::ring_exchange, .aggregate = true}},
      {"BlockingScatter", SlotKind::scatter, {.method = TensorMethod::waited}},
      {"WaitedReduce", SlotKind::reduce, {.method = TensorMethod::waited}},
      {"RingScatter", SlotKind::scatter, ring},
      {"PipelineScatter", SlotKind::scatter, {.method = TensorMethod::pipeline, .num_splits = 4}},
      {"Fp8RingScatter", SlotKind::scatter, {.method = TensorMethod::ring_exchange, .fp8_buf = true}},
      {"Fp8PipelineScatter", SlotKind::scatter, {.method = TensorMethod::pipeline, .num_splits = 4, .fp8_buf = true}},
      {"WaitedGatherBeside", SlotKind::gather_beside, {.method = TensorMethod::waited}},
      {"WaitedScatterBeside", SlotKind::scatter_beside, {.method = TensorMethod::waited}},
      {"WaitedReduceBeside", SlotKind::reduce_beside, {.method = TensorMethod::waited}},
      {"AsynchronousGather", SlotKind::gather_beside, {.method = TensorMethod::nccl}},
      {"AsynchronousScatter", SlotKind::scatter_beside, {.method = TensorMethod::nccl}},
      {"AsynchronousReduce", SlotKind::reduce_beside, {.method = TensorMethod::nccl}},
      {"BulkGather", SlotKind::gather_beside, {.method = TensorMethod::bulk}},
      {"BulkScatter", SlotKind::scatter_beside, {.method = TensorMethod::bulk}},
      {"BlockingDrain", SlotKind::drain, {.method = TensorMethod::waited}},
      {"DoubleBufferedDrain", SlotKind::drain, {.method = TensorMethod::nccl}}};
}

// Three steps of two tensor-parallel groups, whose ranks of the same place are a data-parallel group.
class CheckedSlot : public testing::TestWithParam<std::tuple<CheckCase, std::int32_t>> {
 protected:
  CheckedSlot() {
    const auto& [c, num_ranks] = GetParam();
    SlotCase slot{.kind = c.kind, .overlap = c.overlap, .num_ranks = num_ranks};
    if (c.overlap.fp8_buf) slot.tokens_of_part = kFp8Tokens, slot.features = kFp8Features, slot.others = kFp8Others;
    programs_ = VirtualSlot(slot).record(3, 2);
  }

  Program& damaged() { return programs_[kDamaged]; }
  // What orders the technique's own work; what the data-parallel group adds around it is not the technique's.
  bool is_of_technique(const ProgramCommand& command) {
    const auto is_dp = [&](std::uint32_t stream) { return damaged().streams[stream].name == "dp"; };
    return !is_dp(command.stream) && !(command.type == Type::wait && is_dp(command.awaited_stream));
  }

  std::vector<Program> programs_;
};

INSTANTIATE_TEST_SUITE_P(Techniques, CheckedSlot, testing::Combine(testing::ValuesIn(cases()), testing::Values(2, 4)),
                         [](const auto& parameter) {
                           return std::get<0>(parameter.param).name + std::to_string(std::get<1>(parameter.param));
                         });

TEST_P(CheckedSlot, IsWellAlsoWithoutItsPaces) {
  const CheckReport report = check::check_programs(programs_);
  EXPECT_TRUE(report.findings.empty()) << text_of(report);
  for (Program& program : programs_)
    for (ProgramCommand& command : program.commands)
      if (command.type == Type::throttle) command.awaited_position = 0;
  const CheckReport without = check::check_programs(programs_, {.connections = {}});
  EXPECT_TRUE(without.findings.empty()) << text_of(without);
}

TEST_P(CheckedSlot, NeedsEachOfItsWaits) {
  for (std::uint32_t i = 0; i < damaged().commands.size(); ++i) {
    ProgramCommand& wait = damaged().commands[i];
    if (wait.type != Type::wait || !is_of_technique(wait)) continue;
    const std::uint64_t position = std::exchange(wait.awaited_position, 0);
    const check::ProgramIndex index(damaged());
    const CheckReport report = check::check_programs(programs_, {.connections = {}});
    const std::string place = "command " + std::to_string(i) + ", " + describe(damaged(), wait);
    const auto is_what_it_ordered = [&](const Finding& f) {
      return f.kind == FindingKind::race && testing_support::is_ordered_by(index, kDamaged, i, position, f);
    };
    EXPECT_TRUE(std::any_of(report.findings.begin(), report.findings.end(), is_what_it_ordered))
        << place << " is redundant: " << text_of(report);
    wait.awaited_position = position;
  }
}

TEST_P(CheckedSlot, NeedsAllOfEachRange) {
  std::vector<std::pair<View*, std::uint32_t>> views;
  for (std::uint32_t c = 0; c < damaged().commands.size(); ++c) {
    const ProgramCommand& command = damaged().commands[c];
    if (command.tag.step < 0) continue;
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
}  // namespace underlap::tp
