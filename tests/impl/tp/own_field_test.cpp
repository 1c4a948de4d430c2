// SPDX-License-Identifier: Apache-2.0
// A technique's own field of a slot. This file declares two that no other file knows: a flag and a number.
#include <stdexcept>
#include <vector>

#include "impl/plan/plan_words.hpp"
#include "impl/plan/slots/slot_fields.hpp"
#include "impl/tp/technique.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::tp {
namespace {

using plan::TensorMethod;
using plan::TensorSlot;
using plan::Value;

bool is_ring_gather(TensorSlot slot, TensorMethod method) {
  return method == TensorMethod::ring_exchange && plan::gathers(slot, method);
}

const plan::SlotField kMulticast =
    plan::add_slot_field({.name = "multicast",
                          .word = "+multicast",
                          .applies = is_ring_gather,
                          .chooses = plan::SlotTechnique::gather_gemm,
                          .no_effect = "only a ring that gathers sends one part to all"});
const plan::SlotField kWindow = plan::add_slot_field(
    {.name = "window", .type = plan::Type::integer, .range = {1, 8}, .applies = is_ring_gather, .fallback = 2});

plan::Plan plan_of(const std::string& cfg) {
  const std::string model = "model: {preset: llama3-70b, tensor_model_parallel_size: 4, sequence_parallel: true}\n";
  return plan::parse(model + "comm_overlap: {tp_comm_overlap: true, tp_comm_overlap_cfg: " + cfg + "}\n", "f")
      .cells.at(0)
      .plan;
}

const plan::Knob& slot_of(const plan::Plan& plan, const std::string& slot) {
  return *plan::find_knob(plan, "comm_overlap.tp_comm_overlap_cfg." + slot);
}

TEST(OwnField, IsReadIntoTheSlotsSettings) {
  const plan::Plan plan = plan_of("{qkv_fprop: {multicast: true, window: 4}}");
  const plan::TensorOverlap& slots = plan.config.tensor_overlap;
  EXPECT_EQ(plan::read_field(kMulticast, slots[TensorSlot::qkv_fprop]), Value(true));
  EXPECT_EQ(plan::read_field(kWindow, slots[TensorSlot::qkv_fprop]), Value(4));
  EXPECT_EQ(plan::read_field(kMulticast, slots[TensorSlot::fc1_fprop]), Value(false));
  EXPECT_EQ(plan::read_field(kWindow, slots[TensorSlot::fc1_fprop]), Value(2));
}

TEST(OwnField, IsPrintedInJsonAndInTheTable) {
  const plan::Plan plan = plan_of("{qkv_fprop: {multicast: true, window: 4}}");
  const plan::Knob& slot = slot_of(plan, "qkv_fprop");
  EXPECT_THAT(plan::to_json_text(slot.effective), HasSubstr(R"("fp8_buf":false,"multicast":true,"window":4})"));
  EXPECT_EQ(plan::slot_text(slot.effective), "ring_exchange sm1 cga1 window=4 +multicast");
  EXPECT_THAT(plan::to_json_text(slot_of(plan, "fc2_fprop").effective), Not(HasSubstr("window")));
}

TEST(OwnField, IsLaidOverWhatWasWrittenBefore) {
  const plan::TensorSlotRequest base{{"method", "ring_exchange"}, {"multicast", true}, {"window", 4}};
  EXPECT_EQ(plan::merged(base, {{"window", 8}, {"num_sm", 2}}),
            (plan::TensorSlotRequest{{"method", "ring_exchange"}, {"multicast", true}, {"window", 8}, {"num_sm", 2}}));
}

TEST(OwnField, IsCheckedAtItsPlace) {
  EXPECT_THAT(plan::lines_of(plan_of("{qkv_fprop: {window: 9}}").errors),
              ElementsAre(AllOf(StartsWith("f:2:81: "), HasSubstr("window must be a whole number from 1 to 8"))));
  EXPECT_THAT(plan::lines_of(plan_of("{qkv_fprop: {multicasts: true}}").errors),
              ElementsAre(HasSubstr("did you mean multicast?")));
  const plan::Plan elsewhere = plan_of("{fc2_fprop: {multicast: true}}");
  EXPECT_THAT(plan::lines_of(elsewhere.notices),
              Contains(HasSubstr("fc2_fprop.multicast has no effect: only a ring that gathers sends")));
  EXPECT_EQ(plan::read_field(kMulticast, elsewhere.config.tensor_overlap[TensorSlot::fc2_fprop]), Value(false));
}

TEST(OwnField, ChoosesATechniqueOfItsKindAlone) {
  const plan::Plan plan = plan_of("{qkv_fprop: {multicast: true}}");
  const plan::TensorSlotOverlap& overlap = plan.config.tensor_overlap[TensorSlot::qkv_fprop];
  EXPECT_EQ(plan::slot_key(plan::SlotTechnique::gather_gemm, overlap),
            (plan::SlotKey{.method = TensorMethod::ring_exchange, .with = {"multicast"}}));
  EXPECT_EQ(plan::slot_key(plan::SlotTechnique::gemm_scatter, overlap),
            (plan::SlotKey{.method = TensorMethod::ring_exchange}));
}

TEST(OwnField, HasANameOfItsOwn) {
  EXPECT_THROW(plan::add_slot_field({.name = "window"}), std::logic_error);
  EXPECT_THROW(plan::add_slot_field({.name = "num_sm"}), std::logic_error);
}

}  // namespace
}  // namespace underlap::tp
