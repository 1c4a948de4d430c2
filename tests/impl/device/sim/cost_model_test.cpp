// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/cost_model.hpp"

#include "tests/impl/device/sim/hardware_files.hpp"

namespace underlap::sim {
namespace {

using Kind = KernelTime::Kind;

Cost gemm_cost(std::int64_t m, std::int64_t n, std::int64_t k, int bytes_per_element = 2) {
  return {.flops = 2.0 * static_cast<double>(m * n * k),
          .bytes_read = bytes_per_element * (m * k + n * k),
          .bytes_written = 2 * m * n,
          .work = Work::gemm,
          .extent = {m, n, k},
          .precision = bytes_per_element == 1 ? Precision::fp8 : Precision::bf16};
}

struct RoundModel : testing::Test {
  CostModel model{test::round_hardware()};
};

CostModel with_margin(int layernorm_sm_margin) { return CostModel(test::round_hardware(), {}, layernorm_sm_margin); }

TEST_F(RoundModel, GemmOfOneWaveRunsAtThePeak) {
  const KernelTime time = model.kernel(gemm_cost(1000, 1000, 500));
  EXPECT_EQ(time.kind, Kind::waves);
  EXPECT_EQ(time.tiles, 100);
  EXPECT_EQ(time.sms, 100);
  EXPECT_EQ(time.alone_ns, 10000);
  EXPECT_EQ(time.fixed_ns, 0);
  EXPECT_EQ(time.hbm_bytes, 2 * (500'000 + 500'000 + 1'000'000));
}

TEST_F(RoundModel, GemmPaysForTheWholeLastWave) {
  EXPECT_EQ(model.kernel(gemm_cost(1000, 1001, 500)).tiles, 110);
  EXPECT_EQ(model.kernel(gemm_cost(1000, 1001, 500)).alone_ns, 20000);
}

TEST_F(RoundModel, GemmWithAMarginRunsInMoreWaves) {
  Cost cost = gemm_cost(1000, 1000, 500);
  cost.sm_margin = 16;  // 100 tiles on 84 SMs
  const KernelTime time = model.kernel(cost);
  EXPECT_EQ(time.tiles, 100);
  EXPECT_EQ(time.sms, 84);
  EXPECT_EQ(time.alone_ns, 20000);
  cost.sms = 50;
  EXPECT_EQ(model.kernel(cost).sms, 50) << "less than the margin leaves";
  cost.sms = 90;
  EXPECT_EQ(model.kernel(cost).sms, 84) << "more than the margin leaves";
}

TEST_F(RoundModel, MarginThatLeavesNoSmIsRefused) {
  Cost cost = gemm_cost(1000, 1000, 500);
  for (const int margin : {100, -1}) {
    cost.sm_margin = margin;
    EXPECT_THROW(model.kernel(cost), std::invalid_argument) << margin;
  }
  cost.sm_margin = 99;
  EXPECT_EQ(model.kernel(cost).alone_ns, 1000000);
}

TEST_F(RoundModel, Fp8GemmRunsAtItsOwnPeak) { EXPECT_EQ(model.kernel(gemm_cost(1000, 1000, 500, 1)).alone_ns, 5000); }

TEST_F(RoundModel, SmallGemmIsCutInSmallerTiles) {
  const KernelTime time = model.kernel(gemm_cost(100, 100, 500));
  EXPECT_EQ(time.tiles, 4);
  EXPECT_EQ(time.alone_ns, 2500);
}

TEST_F(RoundModel, GemmOfFewRowsIsLimitedByItsBytes) {
  // 2 * (10 * 10000 + 10000 * 10000 + 10 * 10000) bytes at 1 TB/s; its tiles would take a tenth of that.
  const KernelTime time = model.kernel(gemm_cost(10, 10000, 10000));
  EXPECT_EQ(time.kind, Kind::elastic);
  EXPECT_EQ(time.alone_ns, 200400);
  EXPECT_EQ(time.sms, 50);
}

TEST_F(RoundModel, MemoryBoundKernelTakesItsBytesOverTheBandwidth) {
  const KernelTime time = model.kernel({.bytes_read = 600'000, .bytes_written = 400'000});
  EXPECT_EQ(time.kind, Kind::elastic);
  EXPECT_EQ(time.alone_ns, 1000);
  EXPECT_EQ(time.sms, 50);
  EXPECT_EQ(time.tiles, 0);
}

TEST_F(RoundModel, FewerSmsThanSaturateTheMemoryAreProportionallySlower) {
  const KernelTime time = model.kernel({.bytes_read = 1'000'000, .sms = 10});
  EXPECT_EQ(time.alone_ns, 5000);
  EXPECT_EQ(time.sms, 10);
}

TEST_F(RoundModel, NormNeedsAllSmsButTheMargin) {
  const Cost norm{.bytes_read = 1'000'000, .work = Work::norm};
  EXPECT_EQ(model.kernel(norm).kind, Kind::persistent);
  EXPECT_EQ(model.kernel(norm).sms, 100);
  const KernelTime time = with_margin(16).kernel(norm);
  EXPECT_EQ(time.sms, 84);
  EXPECT_EQ(time.alone_ns, 1000);
  EXPECT_EQ(with_margin(75).kernel(norm).alone_ns, 2000);
  EXPECT_THROW(with_margin(100).kernel(norm), std::invalid_argument);
  EXPECT_THROW(with_margin(-1).kernel(norm), std::invalid_argument);
}

TEST_F(RoundModel, NormOfRowsThatABlockHoldsNeedsNoSmsAtOnce) {
  Cost norm{.bytes_read = 1'000'000, .work = Work::norm, .extent = {1000, 8192, 1}};
  EXPECT_EQ(with_margin(16).kernel(norm).kind, Kind::waves);
  EXPECT_EQ(with_margin(16).kernel(norm).tiles, 84);
  EXPECT_EQ(with_margin(16).kernel(norm).alone_ns, 1000);
  norm.extent[1] = 8193;
  EXPECT_EQ(with_margin(16).kernel(norm).kind, Kind::persistent);
}

TEST_F(RoundModel, GemmsAndAttentionRunAtTheClockThatIsKeptUp) {
  Hardware hardware = test::round_hardware();
  hardware.gpu.sustained_clock = Figure{.value = 0.8};
  const CostModel slower(hardware);
  for (const Cost& cost : {Cost{.flops = 1e9, .work = Work::gemm, .extent = {1000, 1000, 500}},
                           Cost{.work = Work::gemm, .extent = {1000, 1000, 500}, .precision = Precision::fp8},
                           Cost{.flops = 1e9, .work = Work::attention_forward, .extent = {1000, 100, 100}}})
    EXPECT_DOUBLE_EQ(slower.kernel(cost).alone_ns, model.kernel(cost).alone_ns / 0.8);
  EXPECT_EQ(slower.kernel({.bytes_read = 1'000'000}).alone_ns, 1000) << "memory has its own clock";
}

TEST_F(RoundModel, GemmsMayTakeAnOverheadOfTheirOwn) {
  Hardware hardware = test::round_hardware();
  hardware.kernels.gemm_overhead_us = Figure{.value = 3};
  const CostModel slower(hardware);
  const Cost by_compute{.flops = 1e9, .work = Work::gemm, .extent = {1000, 1000, 500}};
  Cost by_memory = by_compute;
  by_memory.bytes_read = 1'000'000'000;
  for (const Cost& cost : {by_compute, by_memory}) {
    EXPECT_EQ(slower.kernel(cost).alone_ns, model.kernel(cost).alone_ns + 3000);
    EXPECT_EQ(slower.kernel(cost).fixed_ns, 3000);
  }
  EXPECT_EQ(slower.kernel({.bytes_read = 1'000'000}).alone_ns, 1000) << "no other kernel";
}

TEST_F(RoundModel, AttentionRunsAtThePeakOnceItsBlocksFillTheDevice) {
  const Cost full{.flops = 1e9, .work = Work::attention_forward, .extent = {1000, 100, 100}};
  EXPECT_EQ(model.kernel(full).kind, Kind::elastic);
  EXPECT_EQ(model.kernel(full).alone_ns, 10000);
  EXPECT_EQ(model.kernel(full).sms, 100);
  // 8 blocks of 128 rows for each of 5 heads: 40 SMs work.
  const Cost few{.flops = 1e9, .work = Work::attention_backward, .extent = {1000, 100, 5}};
  EXPECT_EQ(model.kernel(few).alone_ns, 25000);
  EXPECT_EQ(model.kernel(few).sms, 40);
}

// Of a tile, what counts is how many keys a query meets, which the operations say exactly.
TEST_F(RoundModel, AttentionOfATileIsAsEfficientAsTheCausalSequenceWithLoopsAsLong) {
  Hardware hardware = test::round_hardware();
  hardware.kernels.attention_forward = {{100, {Curve({{1000, 0.1}, {1999, 0.9}}), "", false}}};
  hardware.kernels.attention_backward = hardware.kernels.attention_forward;
  const CostModel curved(hardware);
  const auto efficiency = [&](Work work, std::int64_t rows, double pairs) {
    const double products = work == Work::attention_forward ? 2 : 5;
    const Cost cost{.flops = 2 * products * 100 * pairs * 100, .work = work, .extent = {rows, 100, 100}};
    return cost.flops / (1e5 * curved.kernel(cost).alone_ns);
  };
  for (const Work work : {Work::attention_forward, Work::attention_backward}) {
    EXPECT_DOUBLE_EQ(efficiency(work, 1000, 1000 * 1001 / 2), 0.1) << "causal";
    EXPECT_DOUBLE_EQ(efficiency(work, 1000, 1000 * 1000), 0.9) << "all keys";
    EXPECT_DOUBLE_EQ(efficiency(work, 500, 500 * 1000), 0.9) << "half of the rows, all of the other side";
    EXPECT_DOUBLE_EQ(efficiency(work, 1000, 1000 * 500), 0.1) << "all rows, half of the other side";
  }
}

TEST_F(RoundModel, CopiesTakeNoSm) {
  EXPECT_EQ(model.copy(1'000'000).sms, 0);
  EXPECT_EQ(model.copy(1'000'000).alone_ns, 100'000);
}

TEST_F(RoundModel, SaysWhatTheDeviceOffers) {
  EXPECT_EQ(model.limits().sms, 100);
  EXPECT_EQ(model.limits().hbm_bytes_per_ns, 1000);
  EXPECT_EQ(model.limits().nvlink_bytes_per_ns, 100);
  EXPECT_EQ(model.limits().network_bytes_per_ns, 10);
  EXPECT_EQ(model.host().launch_ns, 0);
  EXPECT_EQ(model.host().queue_depth, 1024);
}

TEST_F(RoundModel, OverheadIsTheFixedPartOfAKernel) {
  Hardware hardware = test::round_hardware();
  hardware.gpu.kernel_overhead_us.value = 2;
  const KernelTime time = CostModel(hardware).kernel(gemm_cost(1000, 1000, 500));
  EXPECT_EQ(time.alone_ns, 12000);
  EXPECT_EQ(time.fixed_ns, 2000);
}

TEST_F(RoundModel, EfficiencyIsReadBetweenThePointsOfItsCurve) {
  Hardware hardware = test::round_hardware();
  hardware.kernels.gemm_bf16.curve = Curve({{400, 0.2}, {600, 0.8}});
  const CostModel curved(hardware);
  EXPECT_EQ(curved.kernel(gemm_cost(1000, 1000, 500)).alone_ns, 20000);
  EXPECT_EQ(curved.kernel(gemm_cost(1000, 1000, 400)).alone_ns, 40000);
  EXPECT_EQ(curved.kernel(gemm_cost(1000, 1000, 800)).alone_ns, 20000) << "constant past the last point";
  hardware.kernels.attention_forward = {{100, {Curve({{1, 0.25}}), "", false}}, {200, {Curve({{1, 0.75}}), "", false}}};
  const Cost attention{.flops = 1e9, .work = Work::attention_forward, .extent = {1000, 150, 100}};
  EXPECT_EQ(CostModel(hardware).kernel(attention).alone_ns, 20000) << "between the curves of two head sizes";
}

TEST_F(RoundModel, RefusesWhatTheDeviceCannotDo) {
  Hardware hardware = test::round_hardware();
  hardware.gpu.fp8_tflops.reset();
  EXPECT_THROW(CostModel(hardware).kernel(gemm_cost(1, 1, 1, 1)), std::invalid_argument);
  EXPECT_THROW(model.kernel(gemm_cost(1, 0, 1)), std::invalid_argument);
  EXPECT_THROW(CostModel(test::round_hardware(), {.gpus_per_node = 9}), std::invalid_argument);
  EXPECT_THROW(CostModel(test::round_hardware(), {.gpus_per_node = -1}), std::invalid_argument);
}

struct MeasuredGemm {
  std::int64_t m, n, k;
  double tflops;
};

// DeepGEMM's fp8 figures on H800 (February 2025). Rows of 64 and 128 tokens are limited by HBM, whose efficiency is
// Calculon's and not fitted to them.
TEST(H100, ReproducesPublishedFp8Gemms) {
  const CostModel model(load_hardware("h100-sxm"));
  const auto error = [&model](const MeasuredGemm& gemm) {
    const Cost cost = gemm_cost(gemm.m, gemm.n, gemm.k, 1);
    return cost.flops / model.kernel(cost).alone_ns / 1000 / gemm.tflops - 1;
  };
  for (const MeasuredGemm& gemm : {MeasuredGemm{4096, 2112, 7168, 1058},
                                   {4096, 24576, 1536, 990},
                                   {4096, 32768, 512, 590},
                                   {4096, 4096, 7168, 1304},
                                   {4096, 7168, 2048, 1025}})
    EXPECT_NEAR(error(gemm), 0, 0.06) << gemm.m << " x " << gemm.n << " x " << gemm.k;
  for (const MeasuredGemm& gemm :
       {MeasuredGemm{64, 2112, 7168, 206}, {64, 7168, 16384, 336}, {128, 24576, 1536, 535}, {128, 7168, 16384, 645}})
    EXPECT_NEAR(error(gemm), 0, 0.30) << gemm.m << " x " << gemm.n << " x " << gemm.k;
}

// Random data, by one author with cuBLAS 12.9, one shape by PyTorch; results/gemms has all.
TEST(H100, ReproducesPublishedBf16Gemms) {
  const CostModel model(load_hardware("h100-sxm"));
  for (const MeasuredGemm& gemm : {MeasuredGemm{8192, 8192, 128, 283},
                                   {4096, 8192, 512, 577},
                                   {8192, 8192, 1024, 727},
                                   {8192, 2048, 2048, 686.8},
                                   {8192, 8192, 4096, 720},
                                   {4096, 8192, 8192, 694},
                                   {8192, 8192, 16384, 697},
                                   {384, 2048, 2048, 279}}) {
    const Cost cost = gemm_cost(gemm.m, gemm.n, gemm.k);
    EXPECT_NEAR(cost.flops / model.kernel(cost).alone_ns / 1000 / gemm.tflops, 1, 0.07)
        << gemm.m << " x " << gemm.n << " x " << gemm.k;
  }
}

// What splitting a GEMM in `chunks` by rows costs, as time of all chunks over the time of the whole.
double cost_of_chunks(const CostModel& model, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t chunks) {
  return static_cast<double>(chunks) * model.kernel(gemm_cost(m / chunks, n, k)).alone_ns /
         model.kernel(gemm_cost(m, n, k)).alone_ns;
}

TEST(H100, ChunksOfManyRowsCostLittleAndChunksOfFewReadTheWeightsAgain) {
  const CostModel model(load_hardware("h100-sxm"));
  EXPECT_LT(cost_of_chunks(model, 2048, 12288, 12288, 4), 1.02);
  EXPECT_GT(cost_of_chunks(model, 2048, 12288, 12288, 8), 1.3) << "192 tiles on 132 multiprocessors";
  EXPECT_GT(cost_of_chunks(model, 512, 12288, 12288, 4), 1.9) << "128 rows take as long as the weights take to read";
  EXPECT_GT(cost_of_chunks(model, 128, 12288, 12288, 4), 3.8) << "as does the whole of 128";
}

TEST(H100, NoChunkIsFasterThanItsShareOfTheWhole) {
  const CostModel model(load_hardware("h100-sxm"));
  for (std::int64_t m = 64; m <= 8192; m *= 2)
    for (const std::int64_t n : {1536, 4608, 9216, 12288})
      for (const std::int64_t chunks : {2, 4, 8}) EXPECT_GE(cost_of_chunks(model, m, n, 12288, chunks), 1) << m << n;
}

// FlashAttention 3's figures: 16384 tokens of hidden size 2048, causal, cuDNN at head size 128.
TEST(H100, ReproducesPublishedAttention) {
  const CostModel model(load_hardware("h100-sxm"));
  const auto tflops = [&model](std::int64_t sequence, std::int64_t head_size, Work work, double products) {
    const std::int64_t heads = 2048 / head_size * (16384 / sequence);
    const double pairs = static_cast<double>(sequence) * static_cast<double>(sequence) / 2 * static_cast<double>(heads);
    const Cost cost{.flops = 2 * products * static_cast<double>(head_size) * pairs,
                    .work = work,
                    .extent = {sequence, head_size, heads}};
    return cost.flops / model.kernel(cost).alone_ns / 1000;
  };
  EXPECT_NEAR(tflops(16384, 128, Work::attention_forward, 2), 539, 10);
  EXPECT_NEAR(tflops(2048, 128, Work::attention_forward, 2), 484, 15);
  EXPECT_NEAR(tflops(8192, 64, Work::attention_forward, 2), 460, 10);
  EXPECT_LT(tflops(8192, 128, Work::attention_backward, 5), tflops(8192, 128, Work::attention_forward, 2));
}

}  // namespace
}  // namespace underlap::sim
