// SPDX-License-Identifier: Apache-2.0
// The checker on recorded steps of every tensor-parallel technique: each is well; without any one of its waits, or with
// any one of its ranges a little smaller, it is not, and the finding names the place.
#include "tests/impl/damage.hpp"
#include "tests/impl/tp/virtual_slot.hpp"

namespace underlap::tp {
namespace {

using plan::TensorMethod;
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
  std::vector<Program> programs_;
};

INSTANTIATE_TEST_SUITE_P(Techniques, CheckedSlot, testing::Combine(testing::ValuesIn(cases()), testing::Values(2, 4)),
                         [](const auto& parameter) {
                           return std::get<0>(parameter.param).name + std::to_string(std::get<1>(parameter.param));
                         });

TEST_P(CheckedSlot, IsWellAlsoWithoutItsPaces) { testing_support::expect_well_also_without_paces(programs_); }

TEST_P(CheckedSlot, NeedsEachOfItsWaits) {
  for (std::uint32_t i = 0; i < damaged().commands.size(); ++i) {
    const ProgramCommand& wait = damaged().commands[i];
    if (wait.type != Type::wait || !testing_support::is_of_technique(damaged(), wait)) continue;
    const testing_support::WithoutWait without = testing_support::without_wait(programs_, kDamaged, i);
    EXPECT_TRUE(without.is_needed) << without.text;
  }
}

TEST_P(CheckedSlot, NeedsAllOfEachRange) {
  const auto ranges = testing_support::ranges_of(damaged(), [](const auto& command) { return command.tag.step >= 0; });
  testing_support::expect_all_needed(programs_, kDamaged, ranges);
}

}  // namespace
}  // namespace underlap::tp
