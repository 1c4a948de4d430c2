// SPDX-License-Identifier: Apache-2.0
#include "kernels/segments/segments.hpp"

#include <iterator>
#include <limits>
#include <stdexcept>

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

using kernels::Segments;

/// A stretch of a buffer with five segments, one of which a chunk of the GPU's kernel ends in.
struct SegmentCase {
  const char* name;
  std::int64_t first, elements;
  Placement placement;
};

class SegmentedOperations : public testing::TestWithParam<SegmentCase> {
 protected:
  static constexpr std::int64_t kBegins[5] = {0, 3, 4, 300, 301};  // in units of 64

  /// The segment of element i of the stretch, one by one.
  std::size_t segment_of(std::int64_t i) const {
    std::size_t s = 0;
    while (s + 1 < 5 && kBegins[s + 1] * kernels::kSegmentUnit <= GetParam().first + i) ++s;
    return s;
  }
  Segments segments() {
    const View begins = memory.dense(DataType::i32, 1, 5);
    memory.set(begins, std::vector<double>(std::begin(kBegins), std::end(kBegins)));
    return {.begins = begins, .first = GetParam().first};
  }

  Memory memory;
  View x = memory.randomize(memory.dense(DataType::f32, 1, GetParam().elements));
};

INSTANTIATE_TEST_SUITE_P(Stretches, SegmentedOperations,
                         testing::Values(SegmentCase{"Whole", 0, 20000, Placement::aligned},
                                         SegmentCase{"OddPlace", 0, 20000, Placement::odd},
                                         SegmentCase{"InsideOneSegment", 600, 999, Placement::aligned},
                                         SegmentCase{"FromTheMiddle", 193, 19500, Placement::aligned},
                                         SegmentCase{"LastElementOfASegment", 191, 2, Placement::odd},
                                         SegmentCase{"BehindAllBegins", 30000, 64, Placement::aligned}),
                         CaseName());

TEST_P(SegmentedOperations, AmaxIsThatOfEachSegmentAndOfWhatWasThere) {
  const View out = memory.row_of(DataType::f32, {0, 0, 9, 0, 0.5});
  std::vector<double> expected = memory.get(out).values;
  const Matrix values = memory.get(x);
  for (std::int64_t i = 0; i < x.cols; ++i)
    expected[segment_of(i)] = std::max(expected[segment_of(i)], std::abs(values(0, i)));
  run_operation(memory, kernels::segmented_amax(x, segments(), out), GetParam().placement);
  EXPECT_EQ(memory.get(out).values, expected);
}

TEST_P(SegmentedOperations, QuantizeTakesTheScaleOfEachSegment) {
  const View scales =
      memory.set(memory.columns(DataType::f32, 5, 1, 4, 0), std::vector<double>{0.01, 0.5, 2, 0.003, 0.0625});
  const Matrix values = memory.get(x), scale = memory.get(scales);
  for (const DataType format : {DataType::f8e4m3, DataType::f8e5m2}) {
    const View q = memory.dense(format, 1, x.cols), expected = memory.dense(format, 1, x.cols);
    std::vector<double> scaled;
    for (std::int64_t i = 0; i < x.cols; ++i)
      scaled.push_back(static_cast<float>(values(0, i)) *
                       (1.0F / static_cast<float>(scale(static_cast<std::int64_t>(segment_of(i)), 0))));
    memory.set(expected, scaled);
    run_operation(memory, kernels::segmented_quantize(x, segments(), scales, q), GetParam().placement);
    EXPECT_EQ(memory.get(q).values, memory.get(expected).values);
  }
}

TEST(SegmentedAmax, KeepsNanInItsOwnSegment) {
  Memory memory;
  std::vector<double> values(128, 1.0);
  values[70] = std::numeric_limits<double>::quiet_NaN();
  const View x = memory.set(memory.dense(DataType::f32, 1, 128), values);
  const View begins = memory.row_of(DataType::i32, {0, 1});
  const View out = memory.dense(DataType::f32, 1, 2);
  run_operation(memory, kernels::segmented_amax(x, {.begins = begins}, out));
  EXPECT_EQ(memory.get(out)(0, 0), 1);
  EXPECT_TRUE(std::isnan(memory.get(out)(0, 1)));
}

TEST(SegmentedAmax, RefusesAStretchBeforeTheBuffer) {
  Memory memory;
  EXPECT_THROW(kernels::segmented_amax(memory.dense(DataType::f32, 1, 8),
                                       {.begins = memory.dense(DataType::i32, 1, 2), .first = -1},
                                       memory.dense(DataType::f32, 1, 2)),
               std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
