// SPDX-License-Identifier: Apache-2.0
// Two context-parallel ranks turn queries and keys of two sequences of 8 tokens, each by the positions that it holds.
#include "impl/model/rope.hpp"
#include "impl/plan/config.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "kernels/bf16.hpp"
#include "tests/impl/device/ranks.hpp"

namespace underlap::model {
namespace {

constexpr std::int64_t kHeadSize = 4, kHeads = 2, kRopeTokens = 8;  // two sequences of 4 on each of two ranks
constexpr std::array<std::array<std::int64_t, 4>, 2> kPositions{{{0, 1, 6, 7}, {2, 3, 4, 5}}};

TEST(Rope, TurnsTheTokensOfEachRankByTheirPositionsAndTheirGradientsBack) {
  plan::ModelConfig model;
  model.hidden_size = kHeads * kHeadSize;
  model.num_attention_heads = kHeads;
  model.seq_length = 8;
  model.rotary_base = 100;
  host::Ranks(2).run([&](host::HostDevice& device, const Group& group) {
    const Stream compute = device.create_stream("compute");
    const cp::Communicators communicators(device, group, compute, {});
    const Rope rope(communicators, model);
    const auto ones = [&](const char* name, std::int64_t heads) {
      return allocate_matrix(device, name, DataType::bf16, kRopeTokens, heads * kHeadSize);
    };
    const cp::Qkv qkv{.q = ones("q", kHeads), .k = ones("k", 1), .v = {}};
    device.begin();
    for (const View& x : {qkv.q, qkv.k}) {
      const std::vector<bf16> bits(static_cast<std::size_t>(x.elements()), bf16(1.0F));
      device.upload(compute, {.kind = Kind::copy}, x, std::as_bytes(std::span(bits)));
    }
    const auto values = [&](const View& x) {
      device.synchronize();
      const std::vector<bf16> bits = testing_support::read<bf16>(device, x);
      return std::vector<float>(bits.begin(), bits.end());
    };
    const Enqueue enqueue{.device = &device, .stream = compute, .tag = {.kind = Kind::compute}};
    rope.initialize(enqueue);
    rope.forward(enqueue, qkv);
    for (const View& x : {qkv.q, qkv.k}) {
      const std::vector<float> turned = values(x);
      for (std::int64_t i = 0; i < x.elements(); ++i) {
        const std::int64_t token = i / x.cols, pair = i % 2;
        const auto position =
            kPositions.at(static_cast<std::size_t>(group.my_index)).at(static_cast<std::size_t>(token % 4));
        const double angle = static_cast<double>(position) / (pair == 0 ? 1 : 10);
        const bool is_left = i % kHeadSize < 2;
        EXPECT_NEAR(turned[static_cast<std::size_t>(i)],
                    std::cos(angle) + (is_left ? -std::sin(angle) : std::sin(angle)), 0.006)
            << "rank " << group.my_index << ", token " << token << ", element " << i % x.cols;
      }
    }
    rope.backward(enqueue, qkv);
    for (const View& x : {qkv.q, qkv.k})
      EXPECT_THAT(values(x), testing::Each(testing::FloatNear(1, 0.012F))) << "rank " << group.my_index;
  });
}

}  // namespace
}  // namespace underlap::model
