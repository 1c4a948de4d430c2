// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm_fp8/gemm_fp8.hpp"

#include <gmock/gmock.h>

#include <stdexcept>
#include <tuple>
#include <utility>

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

using kernels::Fp8Product;
using kernels::gemm_fp8;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::int64_t kM = 24, kN = 40, kK = 48;

/// A product of random operands, whose inverse scales differ from each other and from 1.
Fp8Product product_of(Memory& memory, DataType a, DataType b, DataType c) {
  const auto scale = [&](double value) {
    return memory.set(memory.dense(DataType::f32, 1, 1), std::vector<double>{value});
  };
  return {.a = memory.randomize(memory.dense(a, kM, kK)),
          .a_inverse_scale = scale(0.5),
          .b = memory.randomize(memory.dense(b, kN, kK)),
          .b_inverse_scale = scale(0.03),
          .c = memory.randomize(memory.dense(c, kM, kN))};
}

Matrix expected(Memory& memory, const Fp8Product& p) {
  const Matrix a = memory.get(p.a), b = memory.get(p.b);
  const double scale = memory.get(p.a_inverse_scale)(0, 0) * memory.get(p.b_inverse_scale)(0, 0);
  Matrix c(kM, kN);
  for (std::int64_t m = 0; m < kM; ++m)
    for (std::int64_t n = 0; n < kN; ++n) {
      for (std::int64_t k = 0; k < kK; ++k) c(m, n) += a(m, k) * b(n, k);
      c(m, n) *= scale;
    }
  return p.accumulate ? plus(c, memory.get(p.c)) : c;
}

class GemmFp8 : public testing::TestWithParam<std::tuple<std::pair<DataType, DataType>, DataType, bool>> {};

TEST_P(GemmFp8, MultipliesAndScales) {
  const auto& [operands, c, accumulate] = GetParam();
  Memory memory;
  Fp8Product p = product_of(memory, operands.first, operands.second, c);
  p.accumulate = accumulate;
  const Matrix reference = expected(memory, p);
  run_operation(memory, gemm_fp8(p), Placement::aligned);
  expect_close(memory.get(p.c), reference, c == DataType::f32 ? kFp32 : kBf16Rounded);
}

INSTANTIATE_TEST_SUITE_P(Types, GemmFp8,
                         testing::Combine(testing::Values(std::pair{DataType::f8e4m3, DataType::f8e4m3},
                                                          std::pair{DataType::f8e5m2, DataType::f8e4m3},
                                                          std::pair{DataType::f8e4m3, DataType::f8e5m2}),
                                          testing::Values(DataType::bf16, DataType::f32), testing::Bool()));

TEST(GemmFp8Views, MayBeColumnsOfWiderTensors) {
  Memory memory;
  Fp8Product p = product_of(memory, DataType::f8e4m3, DataType::f8e4m3, DataType::bf16);
  p.a = memory.randomize(memory.columns(DataType::f8e4m3, kM, kK, 96, 16));
  p.c = memory.columns(DataType::bf16, kM, kN, 80, 24);
  const Matrix reference = expected(memory, p);
  run_operation(memory, gemm_fp8(p), Placement::aligned);
  expect_close(memory.get(p.c), reference, kBf16Rounded);
}

TEST(GemmFp8Cost, SaysThatTheOperandsAreFp8AndCountsTheirBytes) {
  Memory memory;
  Fp8Product p = product_of(memory, DataType::f8e4m3, DataType::f8e4m3, DataType::f32);
  p.sm_margin = 3;
  const Cost cost = gemm_fp8(p).cost();
  EXPECT_EQ(cost.work, Work::gemm);
  EXPECT_EQ(cost.precision, Precision::fp8);
  EXPECT_EQ(cost.extent, (std::array<std::int64_t, 3>{kM, kN, kK}));
  EXPECT_EQ(cost.flops, 2.0 * kM * kN * kK);
  EXPECT_EQ(cost.sm_margin, 3);
  EXPECT_EQ(cost.bytes_read, kM * kK + kN * kK);
  EXPECT_EQ(cost.bytes_written, 4 * kM * kN);
  p.accumulate = true;
  EXPECT_EQ(gemm_fp8(p).cost().bytes_read, kM * kK + kN * kK + 4 * kM * kN);
}

TEST(GemmFp8Shapes, ThatGpusCannotMultiplyAreRefusedEverywhere) {
  Memory memory;
  const Fp8Product good = product_of(memory, DataType::f8e4m3, DataType::f8e4m3, DataType::bf16);
  Fp8Product p = good;
  p.a = memory.dense(DataType::f8e4m3, kM, 24);
  p.b = memory.dense(DataType::f8e4m3, kN, 24);
  EXPECT_THAT([&] { gemm_fp8(p); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("K is 24, must be a multiple of 16")));
  p = good;
  p.a = memory.dense(DataType::f8e4m3, 20, kK);
  p.c = memory.dense(DataType::bf16, 20, kN);
  EXPECT_THAT([&] { gemm_fp8(p); }, ThrowsMessage<std::invalid_argument>(HasSubstr("M is 20, must be")));
  p = good;
  p.b = memory.dense(DataType::f8e4m3, 20, kK);
  p.c = memory.dense(DataType::bf16, kM, 20);
  EXPECT_THAT([&] { gemm_fp8(p); }, ThrowsMessage<std::invalid_argument>(HasSubstr("N is 20, must be")));
  p = product_of(memory, DataType::f8e5m2, DataType::f8e5m2, DataType::bf16);
  EXPECT_THAT([&] { gemm_fp8(p); }, ThrowsMessage<std::invalid_argument>(HasSubstr("both f8e5m2")));
  p = good;
  p.sm_margin = -1;
  EXPECT_THROW(gemm_fp8(p), std::invalid_argument);
  p = good;
  p.b = memory.dense(DataType::bf16, kN, kK);
  EXPECT_THROW(gemm_fp8(p), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::test
