// SPDX-License-Identifier: Apache-2.0
// What a layer enqueues for the shapes that a model can have, in order.
#include <fmt/format.h>

#include "impl/step/record_programs.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap {
namespace {

/// The name of an operation; of a bias's gradient also what it is made of.
std::string described(const Program& program, const ProgramCommand& command) {
  const std::string name(name_of(command.name));
  if (name != "bias_wgrad") return name;
  const Tensor& from = program.uses(command).front().view.tensor;
  return fmt::format("{}({})", name, program.tensors.at(from.id - 1).name);
}

/// The operations of the first layer in a step, in one direction.
std::string operations_of(const std::string& model, Direction direction) {
  const plan::Plan plan =
      plan::plan_of(fmt::format("model: {{preset: tiny, num_layers: 2, {}}}\nddp: {{bucket_size: null}}\n", model));
  std::string names;
  const Program program = record_step(plan.config);
  for (const ProgramCommand& c : program.commands)
    if (c.type == ProgramCommand::Type::launch && c.tag.layer == 0 && c.tag.direction == direction)
      names += fmt::format("{}{}", names.empty() ? "" : " ", described(program, c));
  return names;
}

TEST(LayerOperations, WithoutRopeNothingTurns) {
  const std::string model = "position_embedding_type: none";
  EXPECT_EQ(operations_of(model, Direction::forward),
            "rms_norm_forward gemm_fprop attention_forward gemm_fprop residual_add rms_norm_forward gemm_fprop "
            "swiglu_forward gemm_fprop residual_add");
  EXPECT_THAT(operations_of(model, Direction::backward), Not(HasSubstr("rope")));
}

TEST(LayerOperations, BiasesAreAddedByWhatFollowsAndHaveGradientsOfTheirOwn) {
  const std::string model = "add_bias_linear: true, activation: gelu";
  EXPECT_EQ(operations_of(model, Direction::forward),
            "rms_norm_forward gemm_fprop attention_forward gemm_fprop biased_residual_add rms_norm_forward gemm_fprop "
            "gelu_forward gemm_fprop biased_residual_add");
  EXPECT_EQ(operations_of(model, Direction::backward),
            "bias_wgrad(d_hidden) gemm_dgrad gemm_wgrad gelu_backward bias_wgrad(d_fc1) gemm_dgrad gemm_wgrad "
            "rms_norm_wgrad rms_norm_dgrad bias_wgrad(d_middle) gemm_dgrad gemm_wgrad attention_backward "
            "bias_wgrad(d_qkv) gemm_dgrad gemm_wgrad rms_norm_wgrad rms_norm_dgrad");
}

TEST(LayerOperations, LayerNormStandsWhereRmsNormDoes) {
  EXPECT_EQ(operations_of("normalization: LayerNorm", Direction::forward),
            "layer_norm_forward gemm_fprop attention_forward gemm_fprop residual_add layer_norm_forward gemm_fprop "
            "swiglu_forward gemm_fprop residual_add");
  EXPECT_THAT(operations_of("normalization: LayerNorm", Direction::backward),
              HasSubstr("layer_norm_wgrad layer_norm_dgrad"));
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
