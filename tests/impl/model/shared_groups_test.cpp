// SPDX-License-Identifier: Apache-2.0
// Four ranks share two key and value heads. Every number says its token and its row of the whole weight, whose rows are
// those of four queries, then two keys, then two values.
#include "impl/model/shared_groups.hpp"
#include "impl/plan/config.hpp"

#include "kernels/bf16.hpp"
#include "tests/impl/device/ranks.hpp"

namespace underlap::model {
namespace {

constexpr std::int64_t kGroupTokens = 4;
constexpr std::int32_t kRanks = 4;
using Columns = std::vector<std::int64_t>;

plan::Config config_of() {
  plan::Config config;
  config.model.num_layers = 1;
  config.model.hidden_size = 8;
  config.model.ffn_hidden_size = 8;
  config.model.num_attention_heads = 4;
  config.model.num_query_groups = 2;
  config.model.vocab_size = 8;
  config.model.seq_length = kGroupTokens;
  return config;
}

// The rows of the whole weight that each rank's part is of.
Columns rows_of_part(std::int32_t rank) {
  const plan::ModelConfig model = config_of().model;
  const plan::ModelParameters parameters = list_parameters(model, {kRanks, rank});
  const auto qkv = static_cast<std::size_t>(parameters.layers.front().qkv);
  Columns rows;
  for (const plan::WeightBlock& block : parameters.blocks[qkv])
    for (std::int64_t row = 0; row < block.rows; ++row) rows.push_back(block.first / model.hidden_size + row);
  EXPECT_EQ(std::ssize(rows), parameters.all[qkv].rows);
  return rows;
}

// What a rank attends with: its query, its group's key and its value, two rows each.
Columns rows_of_qkv(std::int32_t rank) {
  const std::int64_t q = 2 * rank, k = 8 + rank / 2 * 2, v = 12 + rank / 2 * 2;
  return {q, q + 1, k, k + 1, v, v + 1};
}

template <class Value>
std::vector<float> by_token(const Columns& columns, Value value) {
  std::vector<float> values;
  for (std::int64_t token = 0; token < kGroupTokens; ++token)
    for (const std::int64_t column : columns) values.push_back(static_cast<float>(value(token, column)));
  return values;
}
std::int64_t name(std::int64_t token, std::int64_t row) { return 16 * token + row; }

struct OnRank {
  OnRank(Device& of_rank, const Group& group)
      : device(of_rank),
        compute(device.create_stream("compute")),
        communicators(device, group, compute, {}),
        groups(communicators, Shape(config_of(), {kRanks, group.my_index})),
        qkv(allocate_matrix(device, "qkv", DataType::bf16, kGroupTokens, 6)),
        d_part(allocate_matrix(device, "d_part", DataType::bf16, kGroupTokens, groups.part().cols)) {
    device.begin();
  }
  Enqueue enqueue() const { return {.device = &device, .stream = compute, .tag = {.kind = Kind::compute}}; }
  void upload(const View& view, const std::vector<float>& values) const {
    const std::vector<bf16> bits(values.begin(), values.end());
    device.upload(compute, {.kind = Kind::copy}, view, std::as_bytes(std::span(bits)));
  }
  std::vector<float> download(const View& view) const {
    device.synchronize();
    const std::vector<bf16> bits = testing_support::read<bf16>(device, view);
    return {bits.begin(), bits.end()};
  }

  Device& device;
  Stream compute;
  tp::Communicators communicators;
  SharedGroups groups;
  View qkv;
  View d_part;
};

TEST(SharedGroups, CutTheRowsOfEachKeyHeadEvenly) {
  EXPECT_THAT(rows_of_part(0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(rows_of_part(1), ElementsAre(8, 9, 12, 13));
  EXPECT_THAT(rows_of_part(2), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(rows_of_part(3), ElementsAre(10, 11, 14, 15));
}

TEST(SharedGroups, GiveEachRankItsOwnQueriesItsKeyAndItsValue) {
  host::Ranks(kRanks).run([](host::HostDevice& device, const Group& group) {
    const OnRank rank(device, group);
    rank.upload(rank.groups.part(), by_token(rows_of_part(group.my_index), name));
    rank.groups.gather(rank.enqueue(), rank.qkv);
    EXPECT_EQ(rank.download(rank.qkv), by_token(rows_of_qkv(group.my_index), name)) << "rank " << group.my_index;
  });
}

TEST(SharedGroups, AddUpTheGradientsOfAKeyAndAValueOverTheRanksThatShareThem) {
  host::Ranks(kRanks).run([](host::HostDevice& device, const Group& group) {
    const OnRank rank(device, group);
    rank.upload(rank.qkv, by_token(rows_of_qkv(group.my_index), name));
    rank.groups.reduce(rank.enqueue(), rank.qkv, rank.d_part);
    const auto sum = [](std::int64_t token, std::int64_t row) { return (row < 8 ? 1 : 2) * name(token, row); };
    EXPECT_EQ(rank.download(rank.d_part), by_token(rows_of_part(group.my_index), sum)) << "rank " << group.my_index;
  });
}

}  // namespace
}  // namespace underlap::model
