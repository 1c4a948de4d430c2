// SPDX-License-Identifier: Apache-2.0
// What every tensor-parallel rank holds whole stays the same on all, and as it is on one rank alone.
#include "impl/plan/config.hpp"
#include "tests/impl/step/training.hpp"

namespace underlap {
namespace {

using Values = std::map<std::string, std::vector<float>>;

plan::Config config_of(std::int32_t tensor, bool sequence_parallel) {
  plan::Config config = testing_support::small_config(1);
  config.model.num_query_groups = 2;
  config.model.normalization = plan::Normalization::layer_norm;
  config.model.add_bias_linear = true;
  config.model.activation = plan::Activation::gelu;
  config.model.position_embedding_type = plan::PositionEmbedding::rope;
  config.parallel.tensor_model_parallel_size = tensor;
  config.parallel.sequence_parallel = sequence_parallel && tensor > 1;
  return config;
}

/// Norms and biases of row-parallel layers after some steps, of each rank.
std::vector<Values> trained(const plan::Config& config) {
  const auto data = model::TextData::open("", config.model.seq_length, config.run.seed);
  const std::int32_t n = config.parallel.world_size();
  std::vector<Values> by_rank(static_cast<std::size_t>(n));
  host::Ranks(n).run([&](host::HostDevice& device, const Group& group) {
    Trainer trainer(device, config, parallel_groups(config, group.my_index), data);
    for (int step = 0; step < 10; ++step) trainer.step(0);
    device.synchronize();
    const dp::Buffers& buffers = trainer.buffers();
    for (std::size_t p = 0; p < buffers.parameters.size(); ++p) {
      const std::string& name = buffers.parameters[p].name;
      if (!name.ends_with("norm") && !name.ends_with("norm_bias") && !name.ends_with("proj_bias") &&
          !name.ends_with("fc2_bias"))
        continue;
      const View weight = buffers.weight(static_cast<std::int32_t>(p));
      const std::vector<bf16> bits =
          testing_support::read<bf16>(device, flat(weight.tensor, weight.offset, weight.elements()));
      by_rank[static_cast<std::size_t>(group.my_index)][name] = {bits.begin(), bits.end()};
    }
  });
  return by_rank;
}

double norm_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += double(value) * double(value);
  return std::sqrt(sum);
}

class Replicas : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Tokens, Replicas, testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "Cut" : "Whole"; });

TEST_P(Replicas, OfNormsAndBiasesAgreeOnAllRanksAndWithOneRankAlone) {
  const Values alone = trained(config_of(1, false)).front();
  ASSERT_EQ(alone.size(), 2U * 6 + 2);
  const std::vector<Values> ranks = trained(config_of(2, GetParam()));
  for (const auto& [name, values] : alone) {
    for (const Values& rank : ranks) EXPECT_EQ(rank.at(name), ranks.front().at(name)) << name;
    std::vector<float> difference = ranks.front().at(name);
    for (std::size_t i = 0; i < values.size(); ++i) difference[i] -= values[i];
    std::vector<float> moved = values;
    for (float& value : moved) value -= name.ends_with("norm") ? 1.0F : 0.0F;
    EXPECT_GT(norm_of(moved), 0.01) << name << " has learnt";
    EXPECT_LT(norm_of(difference), 0.25 * norm_of(moved)) << name;
  }
}

}  // namespace
}  // namespace underlap
