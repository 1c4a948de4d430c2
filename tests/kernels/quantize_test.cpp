// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantize/quantize.hpp"

#include <limits>
#include <stdexcept>
#include <tuple>

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// 300 columns, past an odd start: several groups of 16 bytes, and a remainder.
constexpr std::int64_t kBlockRows = 7, kBlockCols = 300;

View scalar(Memory& memory, double value) { return memory.row_of(DataType::f32, {value}); }

/// A view that a device could move 16 bytes at a time, where `aligned`, and one that it could not.
View values_of(Memory& memory, DataType dtype, bool aligned) {
  return aligned ? memory.dense(dtype, kBlockRows, 304) : memory.columns(dtype, kBlockRows, kBlockCols, 320, 3);
}

class BothTypes : public testing::TestWithParam<std::tuple<DataType, bool>> {};
INSTANTIATE_TEST_SUITE_P(, BothTypes,
                         testing::Combine(testing::Values(DataType::f32, DataType::bf16), testing::Bool()));

TEST_P(BothTypes, AmaxIsTheLargestMagnitudeOfAllAndOfWhatWasThere) {
  const auto [dtype, aligned] = GetParam();
  const Placement placement = aligned ? Placement::aligned : Placement::odd;
  Memory memory;
  const View x = memory.randomize(values_of(memory, dtype, aligned));
  Matrix values = memory.get(x);
  for (const std::size_t place : {std::size_t{0}, std::size_t{1234}, values.values.size() - 1}) {
    Matrix with_peak = values;
    with_peak.values[place] = -8;
    memory.set(x, with_peak.values);
    const View out = scalar(memory, 5);
    run_operation(memory, kernels::amax(x, out), placement);
    EXPECT_EQ(memory.get(out)(0, 0), 8) << place;
    const View larger = scalar(memory, 9);
    run_operation(memory, kernels::amax(x, larger), placement);
    EXPECT_EQ(memory.get(larger)(0, 0), 9);
  }
}

TEST_P(BothTypes, AmaxOfNanIsNanAndOfInfinityInfinite) {
  const auto [dtype, aligned] = GetParam();
  const Placement placement = aligned ? Placement::aligned : Placement::odd;
  Memory memory;
  const View x = memory.randomize(values_of(memory, dtype, aligned));
  std::vector<double> values = memory.get(x).values;
  values[1001] = -kInfinite;
  memory.set(x, values);
  const View out = scalar(memory, 0);
  run_operation(memory, kernels::amax(x, out), placement);
  EXPECT_EQ(memory.get(out)(0, 0), kInfinite);
  values[77] = kNan;
  memory.set(x, values);
  run_operation(memory, kernels::amax(x, out), placement);
  EXPECT_TRUE(std::isnan(memory.get(out)(0, 0)));
  memory.set(x, std::vector<double>(values.size(), 1.0));
  run_operation(memory, kernels::amax(x, out), placement);
  EXPECT_TRUE(std::isnan(memory.get(out)(0, 0))) << "NaN that was there stays";
}

TEST(Fp8Scale, MakesTheLargestValueTheFormatsLargest) {
  Memory memory;
  const View amax = memory.row_of(DataType::f32, {448, 1, 57344});
  const View inverse_scale = memory.columns(DataType::f32, 3, 1, 4, 0);
  run_operation(memory, kernels::fp8_scale(amax, inverse_scale, DataType::f8e4m3));
  EXPECT_EQ(memory.get(inverse_scale).values, (std::vector<double>{1, 1.0F / 448.0F, 128}));
  run_operation(memory, kernels::fp8_scale(amax, inverse_scale, DataType::f8e5m2));
  EXPECT_EQ(memory.get(inverse_scale).values, (std::vector<double>{448.0F / 57344.0F, 1.0F / 57344.0F, 1}));
}

TEST(Fp8Scale, IsOneForNothingNanForWhatIsNotFiniteAndNeverTooSmallToDivideBy) {
  Memory memory;
  const View amax = memory.row_of(DataType::f32, {0, kInfinite, kNan, 1e-44});
  const View inverse_scale = memory.dense(DataType::f32, 4, 1);
  run_operation(memory, kernels::fp8_scale(amax, inverse_scale, DataType::f8e4m3));
  const auto& got = memory.get(inverse_scale);
  EXPECT_EQ(got(0, 0), 1);
  EXPECT_TRUE(std::isnan(got(1, 0)));
  EXPECT_TRUE(std::isnan(got(2, 0)));
  EXPECT_EQ(got(3, 0), std::numeric_limits<float>::min());
}

TEST(Fp8Scale, RefusesOtherFormats) {
  Memory memory;
  const View amax = memory.dense(DataType::f32, 1, 1), inverse_scale = memory.dense(DataType::f32, 1, 1);
  EXPECT_THAT([&] { kernels::fp8_scale(amax, inverse_scale, DataType::bf16); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("format is bf16, must be f8e4m3 or")));
}

struct Conversion {
  DataType wide, format;
  bool is_aligned;
};

class Conversions : public testing::TestWithParam<std::tuple<DataType, DataType, bool>> {
 protected:
  DataType wide = std::get<0>(GetParam()), format = std::get<1>(GetParam());
  bool is_aligned = std::get<2>(GetParam());
  Placement placement = is_aligned ? Placement::aligned : Placement::odd;
};
INSTANTIATE_TEST_SUITE_P(, Conversions,
                         testing::Combine(testing::Values(DataType::f32, DataType::bf16),
                                          testing::Values(DataType::f8e4m3, DataType::f8e5m2), testing::Bool()));

/// `values` multiplied in fp32, put in `dtype` and read back.
std::vector<double> multiplied(const std::vector<double>& values, float factor, DataType dtype) {
  std::vector<double> result;
  for (const double value : values) {
    std::byte element[8];
    write_element(element, dtype, static_cast<float>(value) * factor);
    result.push_back(read_element(element, dtype));
  }
  return result;
}

TEST_P(Conversions, QuantizeDividesRoundsAndSaturates) {
  Memory memory;
  const View x = memory.randomize(values_of(memory, wide, is_aligned), 3);
  const View q = values_of(memory, format, is_aligned);
  const View inverse_scale = scalar(memory, 0.0078);
  run_operation(memory, kernels::quantize(x, inverse_scale, q), placement);
  EXPECT_EQ(memory.get(q).values, multiplied(memory.get(x).values, 1.0F / 0.0078F, format));
}

TEST_P(Conversions, QuantizeKeepsNanAndBringsInfinityToTheLargestValue) {
  Memory memory;
  const double largest = format == DataType::f8e4m3 ? 448 : 57344;
  const View x = memory.set(memory.dense(wide, 1, 5), std::vector<double>{kNan, kInfinite, -kInfinite, 1e30, -0.0});
  const View q = memory.dense(format, 1, 5);
  run_operation(memory, kernels::quantize(x, scalar(memory, 1), q), placement);
  const Matrix got = memory.get(q);
  EXPECT_TRUE(std::isnan(got(0, 0)));
  EXPECT_EQ(got(0, 1), largest);
  EXPECT_EQ(got(0, 2), -largest);
  EXPECT_EQ(got(0, 3), largest);
  EXPECT_TRUE(got(0, 4) == 0 && std::signbit(got(0, 4)));
}

TEST_P(Conversions, DequantizeMultiplies) {
  Memory memory;
  const View q = memory.randomize(values_of(memory, format, is_aligned));
  const View out = values_of(memory, wide, is_aligned);
  run_operation(memory, kernels::dequantize(q, scalar(memory, 0.37), out), placement);
  EXPECT_EQ(memory.get(out).values, multiplied(memory.get(q).values, 0.37F, wide));
}

TEST(Quantize, OfTheCurrentScaleIsWithinHalfAStepOfEveryElement) {
  Memory memory;
  const View x = memory.random(DataType::bf16, 16, 256, 1e-3);
  const View amax = scalar(memory, 0), inverse_scale = scalar(memory, 0);
  const View q = memory.dense(DataType::f8e4m3, 16, 256), back = memory.dense(DataType::f32, 16, 256);
  run_operation(memory, kernels::amax(x, amax));
  run_operation(memory, kernels::fp8_scale(amax, inverse_scale, DataType::f8e4m3));
  run_operation(memory, kernels::quantize(x, inverse_scale, q));
  run_operation(memory, kernels::dequantize(q, inverse_scale, back));
  const Matrix expected = memory.get(x), actual = memory.get(back);
  const double smallest = memory.get(inverse_scale)(0, 0) / 512;  // a step among the smallest values
  for (std::size_t i = 0; i < expected.values.size(); ++i)
    ASSERT_NEAR(actual.values[i], expected.values[i],
                std::max(std::abs(expected.values[i]) / 16.0001, smallest) * 1.001);
}

TEST(Quantize, NamesTheViewThatDoesNotFit) {
  Memory memory;
  const View x = memory.dense(DataType::bf16, 2, 3), q = memory.dense(DataType::f8e4m3, 3, 2);
  EXPECT_THAT(
      [&] { kernels::quantize(x, scalar(memory, 1), q); },
      ThrowsMessage<std::invalid_argument>(HasSubstr("quantize: q is [3, 2] f8e4m3, must be [2, 3] f8e4m3 or f8e5m2")));
}

}  // namespace
}  // namespace underlap::test
