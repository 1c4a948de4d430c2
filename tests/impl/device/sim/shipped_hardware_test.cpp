// SPDX-License-Identifier: Apache-2.0
// What holds of every description that the program carries.
#include <sstream>

#include "impl/device/sim/machine.hpp"
#include "impl/plan/config.hpp"
#include "tests/impl/device/sim/hardware_files.hpp"

namespace underlap::sim {
namespace {

struct Shipped : testing::TestWithParam<std::string> {
  Hardware hardware = load_hardware(GetParam());
};

TEST(ShippedHardware, IsEveryFileOfTheFolder) {
  EXPECT_THAT(hardware_names(), ElementsAre("a100-sxm", "b200", "gb200", "h100-sxm", "h200-sxm", "l20"));
}

TEST_P(Shipped, IsNamedAsItsFile) { EXPECT_EQ(hardware.name, GetParam()); }

TEST_P(Shipped, IsTheTextOfItsFile) {
  const Hardware from_file = load_hardware(UNDERLAP_SOURCE_DIR "/results/hardware/" + GetParam() + ".yaml");
  EXPECT_EQ(from_file.unverified, hardware.unverified);
  EXPECT_EQ(from_file.collectives.size(), hardware.collectives.size());
  EXPECT_EQ(from_file.collectives.back().segments.back().busbw_gb_per_s,
            hardware.collectives.back().segments.back().busbw_gb_per_s);
}

// A source that speaks of memory, assumption or another machine stands for nothing that was read for this one.
TEST_P(Shipped, MarksEveryFigureOfUnverifiedSource) {
  const std::string yaml = test::read_text_file("results/hardware/" + GetParam() + ".yaml");
  std::istringstream lines(yaml);
  int from_memory = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.find("source: remembered") != std::string::npos || line.find("source: assumed") != std::string::npos) {
      ++from_memory;
      EXPECT_THAT(line, HasSubstr("unverified: true"));
    }
  EXPECT_GE(from_memory, 6);
  EXPECT_THAT(hardware.unverified, Contains("host.collective_launch_us"));
  EXPECT_LT(static_cast<std::int64_t>(hardware.unverified.size()), hardware.num_figures);
}

// Of nodes joined by a network nobody published anything for GPUs without NVLink.
TEST_P(Shipped, KnowsEveryCollectiveInThreeSegmentsOrMore) {
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce})
    for (const bool inside : {true, false}) {
      if (!inside && GetParam() == "l20") continue;
      const auto known = [&](const CollectiveTimes& t) {
        return t.collective == collective && (t.nodes == 1) == inside;
      };
      EXPECT_TRUE(std::any_of(hardware.collectives.begin(), hardware.collectives.end(), known));
    }
  for (const CollectiveTimes& times : hardware.collectives) EXPECT_GE(times.segments.size(), 3U);
}

TEST_P(Shipped, KnowsAttentionOfTheUsualHeadSizes) {
  for (const auto& curves : {hardware.kernels.attention_forward, hardware.kernels.attention_backward}) {
    ASSERT_EQ(curves.size(), 3U);
    EXPECT_EQ(curves[0].head_size, 64);
    EXPECT_EQ(curves[2].head_size, 256);
    for (const AttentionCurve& curve : curves) EXPECT_FALSE(curve.over_sequence.source.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Shipped, testing::ValuesIn(hardware_names()), CaseName());

TEST(Speed, IsThatOfProductsAlone) {
  plan::RunConfig run;
  run.hardware = "h100-sxm";
  run.speed = 0.8;
  const Hardware described = load_hardware("h100-sxm"), slower = hardware_of(run);
  EXPECT_DOUBLE_EQ(slower.gpu.bf16_tflops.value, 0.8 * described.gpu.bf16_tflops.value);
  EXPECT_DOUBLE_EQ(slower.gpu.fp8_tflops->value, 0.8 * described.gpu.fp8_tflops->value);
  EXPECT_EQ(slower.gpu.hbm_gb_per_s.value, described.gpu.hbm_gb_per_s.value);
  EXPECT_EQ(hardware_words(run), "h100-sxm at speed 0.8");
  run.speed = 1;
  EXPECT_EQ(hardware_words(run), "h100-sxm");
}

TEST(Peak, IsTheDescribedOneOfTheFormatOfTheProducts) {
  plan::Config config;
  config.run.hardware = "h100-sxm";
  config.run.speed = 0.5;
  const Gpu gpu = load_hardware("h100-sxm").gpu;
  EXPECT_EQ(peak_of(config).tflops, gpu.bf16_tflops.value);
  EXPECT_EQ(peak_of(config).of, "h100-sxm, bf16");
  config.mixed_precision.recipe = "bf16_with_fp8_current_scaling_mixed";
  EXPECT_EQ(peak_of(config).tflops, gpu.fp8_tflops->value);
  config.run.hardware = "a100-sxm";
  EXPECT_EQ(peak_of(config).of, "a100-sxm, bf16") << "it has no fp8";
}

// Figures that were never read anywhere, only remembered or assumed.
TEST(ShippedHardware, MarksWhatNobodyRead) {
  for (const std::string name : {"b200", "gb200"})
    for (const char* path : {"gpu.sms", "gpu.hbm_gb_per_s", "gpu.l2_mb", "gpu.copy_engines",
                             "kernels.attention_forward.128", "collectives.all_reduce.nvls.1_nodes"})
      EXPECT_THAT(load_hardware(name).unverified, Contains(path)) << name;
  EXPECT_THAT(load_hardware("a100-sxm").unverified, Contains("gpu.copy_engines"));
  EXPECT_THAT(load_hardware("a100-sxm").unverified, Contains("collectives.all_gather.ring.1_nodes"));
  for (const std::string& name : hardware_names())
    for (const char* path :
         {"host.collective_launch_us", "host.launch_queue_depth", "gpu.memory_saturation_sms", "node.p2p_sms"})
      EXPECT_THAT(load_hardware(name).unverified, Contains(path)) << name;
  const std::vector<std::string> of_calibration{"host.kernel_launch_us", "host.copy_launch_us", "host.event_record_us",
                                                "host.event_wait_us", "gpu.kernel_overhead_us"};
  for (const std::string& name : hardware_names())
    for (const std::string& path : of_calibration)
      EXPECT_EQ(std::ranges::count(load_hardware(name).unverified, path), name == "h200-sxm" ? 0 : 1)
          << path << " of " << name << ": an H200 was measured";
  for (const std::string& name : hardware_names()) {
    if (name == "l20") continue;  // GEMMs and attention were compared on it, no training steps
    for (const char* path : {"host.schedule_call_us", "host.synchronize_us", "host.iteration_us"})
      EXPECT_THAT(load_hardware(name).unverified, Contains(path)) << name;
  }
}

TEST(ShippedHardware, HasTheLimitsOfTheDataSheets) {
  const Hardware h100 = load_hardware("h100-sxm"), a100 = load_hardware("a100-sxm"), gb200 = load_hardware("gb200");
  EXPECT_EQ(h100.gpu.sms.value, 132);
  EXPECT_EQ(h100.gpu.bf16_tflops.value, 989);
  EXPECT_EQ(h100.gpu.fp8_tflops->value, 1979);
  EXPECT_EQ(h100.gpu.hbm_gb_per_s.value, 3350);
  EXPECT_EQ(h100.gpu.hbm_gb.value, 85.52) << "the data sheet's 80 GB are counted in 2^30";
  EXPECT_FALSE(h100.gpu.sms.unverified);
  EXPECT_FALSE(a100.gpu.fp8_tflops.has_value());
  EXPECT_FALSE(a100.kernels.gemm_fp8.has_value());
  EXPECT_EQ(a100.node.network_gb_per_s.value, 25);
  EXPECT_EQ(gb200.node.gpus.value, 72);
  EXPECT_TRUE(gb200.gpu.sms.unverified);
  EXPECT_TRUE(load_hardware("b200").gpu.l2_mb.unverified);
}

}  // namespace
}  // namespace underlap::sim
