// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/hardware.hpp"

#include <fmt/format.h>

#include <utility>

#include "tests/impl/device/sim/hardware_files.hpp"

namespace underlap::sim {
namespace {

using test::complaint;
using test::expect_complaints;

/// round.yaml with `from` replaced once by `to`.
std::string changed(const std::string& from, const std::string& to) {
  return test::replaced(test::round_yaml(), from, to);
}

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
              ElementsAre("NVIDIA A", "NVIDIA B"));
  EXPECT_THAT(complaint(changed("gpu:\n", "gpu:\n  cuda_names: NVIDIA A\n")), HasSubstr("gpu.cuda_names"));
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
  const std::string all =
      complaint(changed("collectives:", "collectives_taken_on: {nvlink_gb_per_s: 0}\ncollectives:"));
  EXPECT_THAT(all, HasSubstr("nvlink_gb_per_s is \"0\", must be a number from"));
  EXPECT_THAT(all, HasSubstr("collectives_taken_on has no network_latency_us"));
}

TEST(HardwareFile, ListsWhatIsUnverified) {
  const Hardware hardware = parse_hardware(
      changed("l2_mb: {value: 10, source: round}", "l2_mb: {value: 10, source: round, unverified: true}"), "a");
  EXPECT_THAT(hardware.unverified, ElementsAre("gpu.l2_mb"));
  EXPECT_TRUE(hardware.gpu.l2_mb.unverified);
  EXPECT_EQ(hardware.num_figures, test::round_hardware().num_figures);
}

TEST(HardwareFile, EveryErrorHasItsPlace) {
  EXPECT_EQ(complaint(changed("sms: {value: 100", "sms: {value: 0")),
            "a.yaml:10:16: gpu.sms is \"0\", must be a whole number from 1 to 4096");
  const std::string rate = "hbm_gb_per_s: {value: ";
  for (const std::string wrong : {"-3", "nan", "inf", "1e-30", "1e300", "1e-7", "1e10"})
    expect_complaints(
        test::round_yaml(),
        {{rate + "1000", rate + wrong,
          fmt::format("a.yaml:13:25: gpu.hbm_gb_per_s is \"{}\", must be a number from 1e-06 to 1e+09", wrong)}});
  expect_complaints(test::round_yaml(),
                    {{rate + "1000", rate + "fast", "is \"fast\""}, {rate + "1000", rate + "\"1000\"", "the text"}});
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
  const std::string l2 = "l2_mb: {value: 10, source: round}";
  expect_complaints(test::round_yaml(), {{l2, "l2_mb: {value: 10}", "gpu.l2_mb has no source"},
                                         {l2, "l2_mb: {value: 10, source: rond}",
                                          "source \"rond\" is not listed in sources; did you mean round?"},
                                         {l2, "l2_mb: 10", "gpu.l2_mb is \"10\", must be a mapping"}});
}

TEST(HardwareFile, RefusesCurvesThatAreNone) {
  const std::string curve = "gemm_bf16: {source: round, points: [[1, 1]]}";
  for (const auto& [points, what] :
       {std::pair<std::string, std::string>("[[1, 0.5], [1, 0.6]]", "kernels.gemm_bf16: x must ascend; 1 follows 1"),
        {"[[2, 0.5], [1, 0.6]]", "x must ascend"},
        {"[[1, 1.01]]", "an efficiency is \"1.01\", must be a number above 0 and at most 1"},
        {"[[1, 0]]", "an efficiency is \"0\""},
        {"[[1]]", "a point is two numbers"},
        {"[]", "must be a list with at least one item"},
        {"[1, 2]", "a point must be a list"}})
    expect_complaints(test::round_yaml(), {{curve, "gemm_bf16: {source: round, points: " + points + "}", what}});
  const std::string of_100 = "head_size: 100, source: round, points: [[1, 1]]}";
  expect_complaints(test::round_yaml(), {{"  " + curve + "\n", "", "kernels has no gemm_bf16"},
                                         {of_100, of_100 + "\n    - {head_size: 50, source: round, points: [[1, 1]]}",
                                          "head sizes must ascend; 50 follows 100"}});
}

TEST(HardwareFile, RefusesWhatDoesNotFitTogether) {
  const std::string segment = "busbw_gb_per_s: 100}]";
  expect_complaints(
      test::round_yaml(),
      {{"  fp8_tflops: {value: 200, source: round}\n", "", "go together; one of them is missing"},
       {"memory_saturation_sms: {value: 50", "memory_saturation_sms: {value: 101", "more than the 100 SMs"},
       {"algorithms: [ring]", "algorithms: [tree]", "nccl.algorithms must include ring"},
       {"algorithms: [ring]", "algorithms: [ring, nvls]", "nvls needs nvls_channels"},
       {"algorithms: [ring]", "algorithms: [ring, rings]", "\"rings\" is not an algorithm"},
       {"protocols: [simple]", "protocols: [ll]", "nccl.protocols must include simple"},
       {"ranks: 8\n    nodes: 1", "ranks: 9\n    nodes: 1", "9 ranks on 1 nodes, which have 8 GPUs each"},
       {"ranks: 16\n    nodes: 2", "ranks: 16\n    nodes: 3", "do not spread evenly"},
       {"collective: all_gather}", "collective: all_reduce}", "all_reduce by ring on 1 nodes is listed twice"},
       {"collective: all_gather}", "collective: send}", "\"send\" is not a collective"},
       {segment, "busbw_gb_per_s: 100}, {up_to_bytes: 5, latency_us: 0, busbw_gb_per_s: 1}]",
        "up_to_bytes must ascend; 5 follows 1000000000"},
       {segment, "busbw_gb_per_s: 0}]", "busbw_gb_per_s is \"0\""},
       {"schema: underlap.hardware/1", "schema: underlap.hardware/2", "must be underlap.hardware/1"}});
}

TEST(HardwareFile, RefusesWhatIsNoDescription) {
  for (const auto& [yaml, what] : {std::pair<std::string, std::string>("", "a.yaml:1:1: "),
                                   {"[1, 2]", "the description is a list, must be a mapping"},
                                   {"a: [1", "not YAML"},
                                   {"unknown: 1\n", "the description has no gpu"},
                                   {std::string((1 << 20) + 1, ' '), "larger than"}})
    EXPECT_THAT(complaint(yaml), HasSubstr(what));
}

TEST(LoadHardware, NamesTheNearestWhereThereIsNone) {
  for (const auto& [name, what] : {std::pair("h100-sxn", "did you mean h100-sxm?"),
                                   {"/nowhere/at/all.yaml", "nor a file"},
                                   {".", "nor a file"},
                                   {"", "nor a file"}})
    EXPECT_THAT([name = name] { load_hardware(name); }, ThrowsMessage<std::invalid_argument>(HasSubstr(what)));
}

}  // namespace
}  // namespace underlap::sim
