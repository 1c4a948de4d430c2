// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/hardware.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/impl/device/sim/hardware_files.hpp"

namespace underlap::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// round.yaml with `from` replaced once by `to`.
std::string changed(const std::string& from, const std::string& to) {
  std::string yaml = test::round_yaml();
  const std::size_t at = yaml.find(from);
  if (at == std::string::npos) throw std::logic_error("round.yaml has no " + from);
  return yaml.replace(at, from.size(), to);
}

std::string complaint(const std::string& yaml) {
  try {
    parse_hardware(yaml, "a.yaml");
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

/// What is said of round.yaml with `from` replaced by `to`.
std::string complaint(const std::string& from, const std::string& to) { return complaint(changed(from, to)); }

TEST(HardwareFile, GivesFiguresWithTheirSources) {
  const Hardware round = test::round_hardware();
  EXPECT_EQ(round.name, "round");
  EXPECT_EQ(round.gpu.sms.value, 100);
  EXPECT_EQ(round.gpu.sms.source, "chosen to compute with");
  EXPECT_EQ(round.kernels.gemm_bf16.source, "chosen to compute with");
  EXPECT_THAT(round.unverified, IsEmpty());
  EXPECT_EQ(round.collectives.size(), 8U);
  EXPECT_EQ(round.collectives[1].collective, Collective::all_gather);
  EXPECT_EQ(round.collectives[7].segments[0].busbw_gb_per_s, 80);
}

TEST(HardwareFile, NamesTheGpusThatItIsOf) {
  EXPECT_THAT(test::round_hardware().gpu.cuda_names, IsEmpty());
  EXPECT_THAT(parse_hardware(changed("gpu:\n", "gpu:\n  cuda_names: [NVIDIA A, NVIDIA B]\n"), "a").gpu.cuda_names,
              testing::ElementsAre("NVIDIA A", "NVIDIA B"));
  EXPECT_THAT(complaint("gpu:\n", "gpu:\n  cuda_names: NVIDIA A\n"), HasSubstr("gpu.cuda_names"));
}

TEST(HardwareFile, SaysWhereCollectivesWereTaken) {
  const std::string taken_on =
      "collectives_taken_on: {nvlink_gb_per_s: 90, network_gb_per_s: 9, ring_channels: 9, ring_channel_gb_per_s: 8, "
      "network_channels: 7, network_channel_gb_per_s: 6, network_latency_us: 5}\n";
  EXPECT_FALSE(test::round_hardware().collectives_taken_on);
  const Hardware hardware = parse_hardware(changed("collectives:", taken_on + "collectives:"), "a");
  EXPECT_EQ(hardware.collectives_taken_on->nvlink_gb_per_s, 90);
  EXPECT_EQ(hardware.collectives_taken_on->nccl.network_channel_gb_per_s.value, 6);
  EXPECT_EQ(hardware.nccl.network_channel_gb_per_s.value, 8);
  const std::string all = complaint("collectives:", "collectives_taken_on: {nvlink_gb_per_s: 0}\ncollectives:");
  EXPECT_THAT(all, HasSubstr("nvlink_gb_per_s is \"0\", must be a number from"));
  EXPECT_THAT(all, HasSubstr("collectives_taken_on has no network_latency_us"));
}

TEST(HardwareFile, ListsWhatIsUnverified) {
  const Hardware hardware = parse_hardware(
      changed("l2_mb: {value: 10, source: round}", "l2_mb: {value: 10, source: round, unverified: true}"), "a");
  EXPECT_THAT(hardware.unverified, testing::ElementsAre("gpu.l2_mb"));
  EXPECT_TRUE(hardware.gpu.l2_mb.unverified);
  EXPECT_EQ(hardware.num_figures, test::round_hardware().num_figures);
}

TEST(HardwareFile, EveryErrorHasItsPlace) {
  EXPECT_EQ(complaint("sms: {value: 100", "sms: {value: 0"),
            "a.yaml:10:16: gpu.sms is \"0\", must be a whole number from 1 to 4096");
  EXPECT_THAT(complaint("hbm_gb_per_s: {value: 1000", "hbm_gb_per_s: {value: -3"),
              HasSubstr("a.yaml:13:25: gpu.hbm_gb_per_s is \"-3\", must be a number from 1e-06 to 1e+09"));
  EXPECT_THAT(complaint("hbm_gb_per_s: {value: 1000", "hbm_gb_per_s: {value: nan"),
              HasSubstr("must be a number from 1e-06 to 1e+09"));
  EXPECT_THAT(complaint("hbm_gb_per_s: {value: 1000", "hbm_gb_per_s: {value: inf"),
              HasSubstr("must be a number from 1e-06 to 1e+09"));
  for (const std::string rate : {"1e-30", "1e300", "1e-7", "1e10"})
    EXPECT_THAT(complaint("hbm_gb_per_s: {value: 1000", "hbm_gb_per_s: {value: " + rate),
                HasSubstr(fmt::format("gpu.hbm_gb_per_s is \"{}\", must be a number from 1e-06 to 1e+09", rate)));
  EXPECT_THAT(complaint("hbm_gb_per_s: {value: 1000", "hbm_gb_per_s: {value: fast"), HasSubstr("is \"fast\""));
  EXPECT_THAT(complaint("hbm_gb_per_s: {value: 1000", "hbm_gb_per_s: {value: \"1000\""), HasSubstr("the text"));
}

TEST(HardwareFile, TellsEveryErrorAtOnce) {
  std::string yaml = changed("  l2_mb", "  l2_mbs");
  yaml.replace(yaml.find("latency_us: 0, busbw"), 13, "latency_us: -1");
  yaml.replace(yaml.find("generation: hopper"), 18, "generation: turing");
  const std::string all = complaint(yaml);
  EXPECT_THAT(all, HasSubstr("a.yaml:10:3: gpu has no l2_mb"));
  EXPECT_THAT(all, HasSubstr("unknown key \"l2_mbs\" in gpu; did you mean l2_mb?"));
  EXPECT_THAT(all, HasSubstr("latency_us is \"-1\", must be a number from 0 to 1e+09"));
  EXPECT_THAT(all, HasSubstr("nccl.generation is \"turing\""));
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 3) << all;
}

TEST(HardwareFile, RefusesAFigureWithoutASource) {
  EXPECT_THAT(complaint("l2_mb: {value: 10, source: round}", "l2_mb: {value: 10}"),
              HasSubstr("gpu.l2_mb has no source"));
  EXPECT_THAT(complaint("l2_mb: {value: 10, source: round}", "l2_mb: {value: 10, source: rond}"),
              HasSubstr("source \"rond\" is not among the sources; did you mean round?"));
  EXPECT_THAT(complaint("l2_mb: {value: 10, source: round}", "l2_mb: 10"),
              HasSubstr("gpu.l2_mb is \"10\", must be a mapping"));
  EXPECT_THAT(complaint("unknown: 1\n"), HasSubstr("the description has no gpu"));
}

TEST(HardwareFile, RefusesCurvesThatAreNone) {
  const std::string curve = "gemm_bf16: {source: round, points: [[1, 1]]}";
  const auto with = [&](const std::string& points) {
    return complaint(curve, "gemm_bf16: {source: round, points: " + points + "}");
  };
  EXPECT_THAT(with("[[1, 0.5], [1, 0.6]]"), HasSubstr("kernels.gemm_bf16: x must ascend; 1 follows 1"));
  EXPECT_THAT(with("[[2, 0.5], [1, 0.6]]"), HasSubstr("x must ascend"));
  EXPECT_THAT(with("[[1, 1.01]]"), HasSubstr("an efficiency is \"1.01\", must be a number above 0 and at most 1"));
  EXPECT_THAT(with("[[1, 0]]"), HasSubstr("an efficiency is \"0\""));
  EXPECT_THAT(with("[[1]]"), HasSubstr("a point is two numbers"));
  EXPECT_THAT(with("[]"), HasSubstr("must be a list of at least one"));
  EXPECT_THAT(with("[1, 2]"), HasSubstr("a point must be a list"));
  EXPECT_THAT(complaint("  " + curve + "\n", ""), HasSubstr("kernels has no gemm_bf16"));
  EXPECT_THAT(
      complaint(
          "head_size: 100, source: round, points: [[1, 1]]}",
          "head_size: 100, source: round, points: [[1, 1]]}\n    - {head_size: 50, source: round, points: [[1, 1]]}"),
      HasSubstr("head sizes must ascend; 50 follows 100"));
}

TEST(HardwareFile, RefusesWhatDoesNotFitTogether) {
  EXPECT_THAT(complaint("  fp8_tflops: {value: 200, source: round}\n", ""),
              HasSubstr("go together; one of them is missing"));
  EXPECT_THAT(complaint("memory_saturation_sms: {value: 50", "memory_saturation_sms: {value: 101"),
              HasSubstr("more than the 100 SMs"));
  EXPECT_THAT(complaint("algorithms: [ring]", "algorithms: [tree]"), HasSubstr("nccl.algorithms must hold ring"));
  EXPECT_THAT(complaint("algorithms: [ring]", "algorithms: [ring, nvls]"), HasSubstr("nvls needs nvls_channels"));
  EXPECT_THAT(complaint("algorithms: [ring]", "algorithms: [ring, rings]"), HasSubstr("\"rings\" is no algorithm"));
  EXPECT_THAT(complaint("protocols: [simple]", "protocols: [ll]"), HasSubstr("nccl.protocols must hold simple"));
  EXPECT_THAT(complaint("ranks: 8\n    nodes: 1", "ranks: 9\n    nodes: 1"),
              HasSubstr("9 ranks on 1 nodes, which have 8 GPUs each"));
  EXPECT_THAT(complaint("ranks: 16\n    nodes: 2", "ranks: 16\n    nodes: 3"), HasSubstr("do not spread evenly"));
  EXPECT_THAT(complaint("collective: all_gather}", "collective: all_reduce}"),
              HasSubstr("all_reduce by ring on 1 nodes stands twice"));
  EXPECT_THAT(complaint("collective: all_gather}", "collective: send}"), HasSubstr("\"send\" is no collective"));
  EXPECT_THAT(
      complaint("busbw_gb_per_s: 100}]", "busbw_gb_per_s: 100}, {up_to_bytes: 5, latency_us: 0, busbw_gb_per_s: 1}]"),
      HasSubstr("up_to_bytes must ascend; 5 follows 1000000000"));
  EXPECT_THAT(complaint("busbw_gb_per_s: 100}]", "busbw_gb_per_s: 0}]"), HasSubstr("busbw_gb_per_s is \"0\""));
  EXPECT_THAT(complaint("schema: underlap.hardware/1", "schema: underlap.hardware/2"),
              HasSubstr("must be underlap.hardware/1"));
}

TEST(HardwareFile, RefusesWhatIsNoDescription) {
  EXPECT_THAT(complaint(""), StartsWith("a.yaml:1:1: "));
  EXPECT_THAT(complaint("[1, 2]"), HasSubstr("the description is a list, must be a mapping"));
  EXPECT_THAT(complaint("a: [1"), HasSubstr("not YAML"));
  EXPECT_THAT(complaint(std::string((1 << 20) + 1, ' ')), HasSubstr("longer than"));
}

TEST(LoadHardware, NamesTheNearestWhereThereIsNone) {
  const auto load = [](const std::string& name) { return [name] { load_hardware(name); }; };
  using testing::ThrowsMessage;
  EXPECT_THAT(load("h100-sxn"), ThrowsMessage<std::invalid_argument>(HasSubstr("did you mean h100-sxm?")));
  EXPECT_THAT(load("/nowhere/at/all.yaml"), ThrowsMessage<std::invalid_argument>(HasSubstr("nor a file")));
  EXPECT_THAT(load("."), ThrowsMessage<std::invalid_argument>(HasSubstr("nor a file")));
  EXPECT_THAT(load(""), ThrowsMessage<std::invalid_argument>(HasSubstr("nor a file")));
}

}  // namespace
}  // namespace underlap::sim
