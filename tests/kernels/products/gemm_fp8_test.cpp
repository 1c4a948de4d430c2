// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm_fp8/gemm_fp8.hpp"

#include <stdexcept>
#include <tuple>
#include <utility>

#include "tests/kernels/reference.hpp"

namespace underlap::test {
namespace {

using kernels::Fp8Product;
using kernels::gemm_fp8;

constexpr std::int64_t kFp8M = 24, kFp8N = 40, kFp8K = 48;

/// Tensor cores of Hopper add fp8 products with 14 bits at most, and cuBLASLt 13.1 adds to what is there with fewer: an
/// H200's results lie up to 2.3e-4 of the root mean square away in fp32, and 1.4e-3 in bf16.
constexpr Tolerance kFp8ToFp32{.relative = 1e-5, .of_rms = 5e-4};
constexpr Tolerance kFp8ToBf16{.relative = kBf16Rounded.relative, .of_rms = 2e-3};

/// A product of random operands, whose inverse scales differ from each other and from 1.
Fp8Product product_of(Memory& memory, DataType a, DataType b, DataType c) {
  const auto scale = [&](double value) { return memory.row_of(DataType::f32, {value}); };
  return {.a = memory.random(a, kFp8M, kFp8K),
          .a_inverse_scale = scale(0.5),
          .b = memory.random(b, kFp8N, kFp8K),
          .b_inverse_scale = scale(0.03),
          .c = memory.random(c, kFp8M, kFp8N)};
}

Matrix expected(Memory& memory, const Fp8Product& p) {
  const Matrix a = memory.get(p.a), b = memory.get(p.b);
  const double scale = memory.get(p.a_inverse_scale)(0, 0) * memory.get(p.b_inverse_scale)(0, 0);
  Matrix c(kFp8M, kFp8N);
  for (std::int64_t m = 0; m < kFp8M; ++m)
    for (std::int64_t n = 0; n < kFp8N; ++n) {
      for (std::int64_t k = 0; k < kFp8K; ++k) c(m, n) += a(m, k) * b(n, k);
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
  expect_close(memory.get(p.c), reference, c == DataType::f32 ? kFp8ToFp32 : kFp8ToBf16);
}

INSTANTIATE_TEST_SUITE_P(Types, GemmFp8,
                         testing::Combine(testing::Values(std::pair{DataType::f8e4m3, DataType::f8e4m3},
                                                          std::pair{DataType::f8e5m2, DataType::f8e4m3},
                                                          std::pair{DataType::f8e4m3, DataType::f8e5m2}),
                                          testing::Values(DataType::bf16, DataType::f32), testing::Bool()));

TEST(GemmFp8Views, MayHaveABiasOfEachColumn) {
  Memory memory;
  Fp8Product p = product_of(memory, DataType::f8e4m3, DataType::f8e4m3, DataType::bf16);
  p.bias = memory.random(DataType::bf16, 1, kFp8N, 10);
  const Matrix reference = plus_row(expected(memory, p), memory.get(p.bias));
  run_operation(memory, gemm_fp8(p), Placement::aligned);
  expect_close(memory.get(p.c), reference, kFp8ToBf16);
  p.accumulate = true;
  EXPECT_THROW(gemm_fp8(p), std::invalid_argument);
}

TEST(GemmFp8Views, MayBeColumnsOfWiderTensors) {
  Memory memory;
  Fp8Product p = product_of(memory, DataType::f8e4m3, DataType::f8e4m3, DataType::bf16);
  p.a = memory.randomize(memory.columns(DataType::f8e4m3, kFp8M, kFp8K, 96, 16));
  p.c = memory.columns(DataType::bf16, kFp8M, kFp8N, 80, 24);
  const Matrix reference = expected(memory, p);
  run_operation(memory, gemm_fp8(p), Placement::aligned);
  expect_close(memory.get(p.c), reference, kFp8ToBf16);
}

TEST(GemmFp8Cost, SaysThatTheOperandsAreFp8AndCountsTheirBytes) {
  Memory memory;
  Fp8Product p = product_of(memory, DataType::f8e4m3, DataType::f8e4m3, DataType::f32);
  p.sm_margin = 3;
  const Cost cost = gemm_fp8(p).cost();
  EXPECT_EQ(cost.work, Work::gemm);
  EXPECT_EQ(cost.precision, Precision::fp8);
  EXPECT_EQ(cost.extent, (std::array<std::int64_t, 3>{kFp8M, kFp8N, kFp8K}));
  EXPECT_EQ(cost.flops, 2.0 * kFp8M * kFp8N * kFp8K);
  EXPECT_EQ(cost.sm_margin, 3);
  EXPECT_EQ(cost.bytes_read, kFp8M * kFp8K + kFp8N * kFp8K);
  EXPECT_EQ(cost.bytes_written, 4 * kFp8M * kFp8N);
  p.accumulate = true;
  EXPECT_EQ(gemm_fp8(p).cost().bytes_read, kFp8M * kFp8K + kFp8N * kFp8K + 4 * kFp8M * kFp8N);
}

TEST(GemmFp8Shapes, ThatGpusCannotMultiplyAreRefusedEverywhere) {
  Memory memory;
  const auto expect_refused = [&](const char* why, auto change) {
    Fp8Product p = product_of(memory, DataType::f8e4m3, DataType::f8e4m3, DataType::bf16);
    change(p);
    EXPECT_THAT([&] { gemm_fp8(p); }, ThrowsMessage<std::invalid_argument>(HasSubstr(why)));
  };
  expect_refused("K is 24, must be a multiple of 16", [&](Fp8Product& p) {
    p.a = memory.dense(DataType::f8e4m3, kFp8M, 24);
    p.b = memory.dense(DataType::f8e4m3, kFp8N, 24);
  });
  expect_refused("M is 20, must be", [&](Fp8Product& p) {
    p.a = memory.dense(DataType::f8e4m3, 20, kFp8K);
    p.c = memory.dense(DataType::bf16, 20, kFp8N);
  });
  expect_refused("N is 20, must be", [&](Fp8Product& p) {
    p.b = memory.dense(DataType::f8e4m3, 20, kFp8K);
    p.c = memory.dense(DataType::bf16, kFp8M, 20);
  });
  expect_refused("both f8e5m2", [&](Fp8Product& p) {
    p.a = memory.dense(DataType::f8e5m2, kFp8M, kFp8K);
    p.b = memory.dense(DataType::f8e5m2, kFp8N, kFp8K);
  });
  expect_refused("b_inverse_scale's offset is 2, must be a multiple of 4",
                 [&](Fp8Product& p) { p.b_inverse_scale = memory.columns(DataType::f32, 1, 1, 8, 2); });
  expect_refused("", [](Fp8Product& p) { p.sm_margin = -1; });
  expect_refused("", [&](Fp8Product& p) { p.b = memory.dense(DataType::bf16, kFp8N, kFp8K); });
}

}  // namespace
}  // namespace underlap::test
