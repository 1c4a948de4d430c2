// SPDX-License-Identifier: Apache-2.0
#include "impl/device/reduce.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "kernels/bf16.hpp"
#include "tests/testing.hpp"

namespace underlap {
namespace {

template <class T>
using Sources = std::vector<std::vector<T>>;

template <class T>
std::vector<const std::byte*> pointers(const Sources<T>& sources) {
  std::vector<const std::byte*> result;
  for (const auto& source : sources) result.push_back(reinterpret_cast<const std::byte*>(source.data()));
  return result;
}

template <class T>
std::vector<T> reduced(const Sources<T>& sources, const Reduction& reduction) {
  std::vector<T> out(sources.front().size());
  reduce_in_rank_order(pointers(sources), reduction, static_cast<std::int64_t>(out.size()),
                       reinterpret_cast<std::byte*>(out.data()));
  return out;
}

template <class T>
Sources<T> random_sources(std::size_t ranks, std::size_t elements) {
  std::mt19937 engine(7);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  Sources<T> sources(ranks, std::vector<T>(elements));
  for (auto& source : sources)
    for (T& value : source) value = T(normal(engine));
  return sources;
}

float bf16_of(double value) { return static_cast<float>(bf16(static_cast<float>(value))); }

std::vector<bf16> one(double value) { return {bf16(static_cast<float>(value))}; }

// Element by element with kernels/bf16.hpp alone: another way to the same figures.
float expected_bf16(const Sources<bf16>& sources, std::size_t i, Accumulator accumulator, ReduceOp op) {
  const float inverse = op == ReduceOp::average ? 1.0F / static_cast<float>(sources.size()) : 1.0F;
  float sum = 0;
  for (std::size_t rank = 0; rank < sources.size(); ++rank) {
    const auto value = static_cast<float>(sources[rank][i]);
    if (accumulator == Accumulator::fp32)
      sum = rank == 0 ? value : sum + value;
    else if (rank == 0)
      sum = bf16_of(value * bf16_of(inverse));
    else
      sum = bf16_of(sum + bf16_of(value * bf16_of(inverse)));
  }
  return accumulator == Accumulator::fp32 ? bf16_of(sum * inverse) : sum;
}

TEST(ReduceInRankOrder, EqualsElementwiseReferenceAcrossBlockBoundaries) {
  const auto sources = random_sources<bf16>(5, 2048 * 2 + 37);
  for (const Accumulator accumulator : {Accumulator::wire, Accumulator::fp32}) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average}) {
      const auto out = reduced(sources, {DataType::bf16, accumulator, op});
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(static_cast<float>(out[i]), expected_bf16(sources, i, accumulator, op)) << "element " << i;
    }
  }
}

TEST(ReduceInRankOrder, WireSumLosesWhatFp32SumKeeps) {
  // The spacing of bf16 at 256 is 2: each single 1 is half of it and is rounded away, ties to even.
  const Sources<bf16> sources{one(256), one(1), one(1), one(1), one(1)};
  EXPECT_EQ(static_cast<float>(reduced(sources, {DataType::bf16, Accumulator::wire, ReduceOp::sum})[0]), 256.0F);
  EXPECT_EQ(static_cast<float>(reduced(sources, {DataType::bf16, Accumulator::fp32, ReduceOp::sum})[0]), 260.0F);
}

TEST(ReduceInRankOrder, AddsInTheOrderOfTheSources) {
  const Sources<bf16> descending{one(256), one(1), one(1)};
  const Sources<bf16> ascending{one(1), one(1), one(256)};
  const Reduction wire{DataType::bf16, Accumulator::wire, ReduceOp::sum};
  EXPECT_EQ(static_cast<float>(reduced(descending, wire)[0]), 256.0F);
  EXPECT_EQ(static_cast<float>(reduced(ascending, wire)[0]), 258.0F);
}

TEST(ReduceInRankOrder, WireAverageRoundsTheFactorAsNcclDoes) {
  // bf16(1/7) is 0.14257..., and seven of them, rounded hop by hop, end one bf16 below 1.
  const Sources<bf16> sources(7, one(1));
  EXPECT_EQ(static_cast<float>(reduced(sources, {DataType::bf16, Accumulator::wire, ReduceOp::average})[0]),
            0.9921875F);
  EXPECT_EQ(static_cast<float>(reduced(sources, {DataType::bf16, Accumulator::fp32, ReduceOp::average})[0]), 1.0F);
}

TEST(ReduceInRankOrder, AverageOfPowerOfTwoIsTheScaledSum) {
  const auto sources = random_sources<bf16>(8, 300);
  for (const Accumulator accumulator : {Accumulator::wire, Accumulator::fp32}) {
    const auto sum = reduced(sources, {DataType::bf16, accumulator, ReduceOp::sum});
    const auto average = reduced(sources, {DataType::bf16, accumulator, ReduceOp::average});
    for (std::size_t i = 0; i < sum.size(); ++i)
      ASSERT_EQ(static_cast<float>(average[i]), static_cast<float>(sum[i]) / 8.0F) << "element " << i;
  }
}

TEST(ReduceInRankOrder, AccumulatorMakesNoDifferenceForF32) {
  const auto sources = random_sources<float>(3, 5000);
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average}) {
    const float scale = op == ReduceOp::average ? 1.0F / 3.0F : 1.0F;
    const auto wire = reduced(sources, {DataType::f32, Accumulator::wire, op});
    EXPECT_EQ(wire, reduced(sources, {DataType::f32, Accumulator::fp32, op}));
    for (std::size_t i = 0; i < wire.size(); ++i)
      ASSERT_EQ(wire[i], (sources[0][i] * scale + sources[1][i] * scale) + sources[2][i] * scale) << "element " << i;
  }
}

TEST(ReduceInRankOrder, OutMayBeAnyOneSource) {
  const auto original = random_sources<bf16>(3, 3000);
  const Reduction reduction{DataType::bf16, Accumulator::wire, ReduceOp::sum};
  const auto expected = reduced(original, reduction);
  for (std::size_t rank = 0; rank < original.size(); ++rank) {
    auto sources = original;
    reduce_in_rank_order(pointers(sources), reduction, 3000, reinterpret_cast<std::byte*>(sources[rank].data()));
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(sources[rank][i].bits, expected[i].bits);
  }
}

TEST(ReduceInRankOrder, SingleSourceIsCopiedUnchanged) {
  const auto sources = random_sources<bf16>(1, 3000);
  const auto out = reduced(sources, {DataType::bf16, Accumulator::wire, ReduceOp::average});
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i].bits, sources[0][i].bits);
}

TEST(ReduceInRankOrder, InfinityAndNanStayWhatTheyAre) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Accumulator accumulator : {Accumulator::wire, Accumulator::fp32}) {
    const Reduction reduction{DataType::bf16, accumulator, ReduceOp::sum};
    EXPECT_TRUE(std::isinf(static_cast<float>(reduced(Sources<bf16>{one(infinity), one(1)}, reduction)[0])));
    EXPECT_TRUE(std::isnan(static_cast<float>(reduced(Sources<bf16>{one(infinity), one(-infinity)}, reduction)[0])));
    for (const std::uint16_t bits : {0x7F81, 0x7FFF, 0xFF81, 0xFFFF}) {
      bf16 nan;
      nan.bits = bits;
      EXPECT_TRUE(std::isnan(static_cast<float>(reduced(Sources<bf16>{one(1), {nan}, {nan}}, reduction)[0]))) << bits;
    }
  }
}

TEST(ReduceInRankOrder, MaxIsTheLargestSourceInEitherAccumulator) {
  const auto largest_of = []<class T>(const Sources<T>& sources, std::size_t i) {
    auto largest = static_cast<float>(sources[0][i]);
    for (const auto& source : sources) largest = std::max(largest, static_cast<float>(source[i]));
    return largest;
  };
  const auto narrow = random_sources<bf16>(5, 2048 + 37);
  const auto wide = random_sources<float>(5, 2048 + 37);
  for (const Accumulator accumulator : {Accumulator::wire, Accumulator::fp32}) {
    const auto of_narrow = reduced(narrow, {DataType::bf16, accumulator, ReduceOp::max});
    const auto of_wide = reduced(wide, {DataType::f32, accumulator, ReduceOp::max});
    for (std::size_t i = 0; i < of_wide.size(); ++i) {
      ASSERT_EQ(static_cast<float>(of_narrow[i]), largest_of(narrow, i)) << "element " << i;
      ASSERT_EQ(of_wide[i], largest_of(wide, i)) << "element " << i;
    }
  }
}

TEST(ReduceInRankOrder, MaxPassesANanOverAsNcclDoes) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Reduction max{DataType::f32, Accumulator::wire, ReduceOp::max};
  EXPECT_THAT(reduced(Sources<float>{{nan, -2, nan}, {-3, nan, nan}}, max), ElementsAre(-3, -2, ::testing::IsNan()));
}

TEST(ReduceInRankOrder, RefusesWhatItCannotSum) {
  const auto message = [](const Sources<float>& sources, DataType dtype, std::int64_t elements) {
    float out = 0;
    return thrown_by<std::invalid_argument>([&] {
      reduce_in_rank_order(pointers(sources), {dtype, Accumulator::wire, ReduceOp::sum}, elements,
                           reinterpret_cast<std::byte*>(&out));
    });
  };
  EXPECT_THAT(message({}, DataType::f32, 1), HasSubstr("no source"));
  EXPECT_THAT(message({{1.0F}}, DataType::i32, 1), HasSubstr("i32"));
  EXPECT_THAT(message({{1.0F}}, DataType::f32, -1), HasSubstr("-1 elements"));
}

}  // namespace
}  // namespace underlap
