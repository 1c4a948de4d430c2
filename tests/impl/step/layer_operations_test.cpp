// SPDX-License-Identifier: Apache-2.0
// What a layer enqueues for the shapes that a model can have, in order.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "impl/plan/plan.hpp"
#include "impl/step/record_programs.hpp"

namespace underlap {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The operations of the first layer in a step, in one direction.
std::string operations_of(const std::string& model, Direction direction) {
  const plan::Matrix matrix =
      plan::parse(fmt::format("model: {{preset: tiny, num_layers: 2, {}}}\nddp: {{bucket_size: null}}\n", model), "f");
  for (const plan::Message& error : matrix.errors) ADD_FAILURE() << error.message;
  std::string names;
  for (const ProgramCommand& c : record_step(matrix.cells.front().plan.config).commands)
    if (c.type == ProgramCommand::Type::launch && c.tag.layer == 0 && c.tag.direction == direction)
      names += fmt::format("{}{}", names.empty() ? "" : " ", name_of(c.name));
  return names;
}

TEST(LayerOperations, WithoutRopeNothingTurns) {
  const std::string model = "position_embedding_type: none";
  EXPECT_EQ(operations_of(model, Direction::forward),
            "rms_norm_forward gemm_fprop attention_forward gemm_fprop residual_add rms_norm_forward gemm_fprop "
            "swiglu_forward gemm_fprop residual_add");
  EXPECT_THAT(operations_of(model, Direction::backward), Not(HasSubstr("rope")));
}

TEST(LayerOperations, RopeTurnsQueriesAndKeysBeforeAttentionAndTheirGradientsBehindIt) {
  const std::string model = "position_embedding_type: rope";
  EXPECT_THAT(operations_of(model, Direction::forward),
              HasSubstr("gemm_fprop rope_forward rope_forward attention_forward"));
  EXPECT_THAT(operations_of(model, Direction::backward),
              HasSubstr("attention_backward rope_backward rope_backward gemm_dgrad"));
}

}  // namespace
}  // namespace underlap
