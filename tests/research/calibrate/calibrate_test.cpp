// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <stdexcept>

#include "platform/errors.hpp"
#include "research/calibrate/child.hpp"
#include "research/calibrate/experiments.hpp"

namespace underlap::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A GPU of simple figures: 100 TFLOP/s, 1000 GB/s, and communication that takes its blocks' share.
class SimpleGpu final : public Gpu {
 public:
  int num_sms() const override { return 132; }
  std::vector<double> host_call_us(HostCall call, int samples) override {
    return std::vector<double>(static_cast<std::size_t>(samples), 1.0 + static_cast<double>(call));
  }
  std::vector<double> empty_kernel_us(int samples) override {
    return std::vector<double>(static_cast<std::size_t>(samples), 1.5);
  }
  std::vector<double> copy_us(std::int64_t bytes, int samples) override {
    return std::vector<double>(static_cast<std::size_t>(samples), static_cast<double>(2 * bytes) * 1e-6 + 1.5);
  }
  std::vector<double> work_us(const Work& work, int samples) override {
    if (is_attention(work.operation))
      throw std::invalid_argument("attention has no CUDA implementation\nin this build");
    return std::vector<double>(static_cast<std::size_t>(samples), work.operation.cost().flops * 1e-8 + 1.5);
  }
  Beside work_beside_us(const Work& work, const Communication& communication, int samples) override {
    if (communication.copy_engine && !has_copy_engines) throw MachineError("no copy engine");
    Beside beside{.us = work_us(work, samples), .gb_per_s = communication.gb_per_s / 2};
    for (double& value : beside.us) value *= 132.0 / (132 - communication.sms);
    return beside;
  }
  // The emulated link costs the GEMM 1 % more than NCCL does, give or take a round's noise, and 2 % less if it polls.
  std::vector<LinkRound> link_rounds(const Work&, const RankPair& pair, int rounds, int) override {
    std::vector<LinkRound> all;
    for (int round = 0; round < rounds; ++round) {
      const double nccl_us = 100 * (pair.cga_size > 1 ? 1.2 : 1.15);
      all.push_back({.alone_us = 100,
                     .nccl_us = nccl_us,
                     .emulated_us = nccl_us * (1.01 + (round % 3 - 1) * 0.001),
                     .polling_us = nccl_us * 0.98,
                     .gb_per_s = 3,
                     .unpaced_gb_per_s = 4,
                     .by_memory = true});
    }
    return all;
  }
  void warm_up(double seconds) override { warmed_up_s += seconds; }
  double warmed_up_s = 0;

  std::vector<double> held(std::string_view behind, bool same_queue, int samples) override {
    const bool holds = same_queue && (behind == "kernel" || behind == "wait");
    return std::vector<double>(static_cast<std::size_t>(samples), holds ? 1.0 : 0.02);
  }

  bool has_copy_engines = true;
};

Measurements calibrated(const std::vector<std::string>& only = {}, bool has_copy_engines = true) {
  SimpleGpu gpu;
  gpu.has_copy_engines = has_copy_engines;
  const sim::Hardware base = sim::load_hardware("h200-sxm");
  Measurements out{.name = "simple", .base = "h200-sxm", .machine = {{"gpu", "a \"simple\" one"}}};
  Calibration calibration{.gpu = gpu, .base = base, .samples = 5, .out = out};
  run_experiments(calibration, only, [](std::string_view) {});
  return out;
}

TEST(Summarize, GivesMedianAndHalfOfTheMiddleHalf) {
  const Sampled sampled = summarize(std::vector<double>{10, 8, 12, 9, 11});
  EXPECT_EQ(sampled.median, 10);
  EXPECT_EQ(sampled.spread, 0.1);  // quartiles 9 and 11
  EXPECT_EQ(sampled.samples, 5);
  EXPECT_THROW(summarize({}), std::invalid_argument);
}

TEST(Calibration, FiguresAreMedians) {
  const Measurements out = calibrated({"launch_latencies"});
  EXPECT_EQ(out.figures.at("host.kernel_launch_us").median, 1);
  EXPECT_EQ(out.figures.at("host.event_wait_us").median, 3);
  EXPECT_EQ(out.figures.at("gpu.kernel_overhead_us").median, 1.5);
  EXPECT_THAT(out.figures, SizeIs(5));
  EXPECT_THAT(out.curves, IsEmpty());
}

TEST(Calibration, CurvesAreFractionsOfTheBasesPeakWithoutTheKernelsOverhead) {
  const Measurements out = calibrated({"launch_latencies", "copy_bandwidth", "gemm_over_k"});
  const CurvePoint& largest = out.curves.at("kernels.memory").back();
  EXPECT_EQ(largest.x, 2.0 * (1 << 30));
  EXPECT_NEAR(largest.efficiency.median, 1000.0 / 4800, 1e-6);
  // A GEMM has the overhead that the base describes: four tiles on each of 132 multiprocessors.
  const CurvePoint& shortest = out.curves.at("kernels.gemm_bf16").front();
  const double flops = 2.0 * 4 * 132 * 128 * 128 * shortest.x;
  const double moving_us = flops / 100e6 + 1.5 - sim::load_hardware("h200-sxm").kernels.gemm_overhead_us.value().value;
  EXPECT_NEAR(shortest.efficiency.median, flops / 989e6 / moving_us, 1e-6);
}

TEST(Calibration, InterferenceIsTimeBesideOverTimeAlone) {
  const Measurements out = calibrated({"gemm_interference"});
  EXPECT_THAT(out.interference, SizeIs(2 * 8));  // 7 numbers of blocks and copy engines, paced and not
  const auto& of_16 = out.interference[4].first;
  EXPECT_EQ(of_16.sms, 16);
  EXPECT_EQ(of_16.gb_per_s, 450);
  EXPECT_EQ(of_16.carried_gb_per_s, 225);
  EXPECT_NEAR(of_16.slowdown, 132.0 / 116, 1e-9);
  EXPECT_TRUE(out.interference[7].first.copy_engine);
  EXPECT_EQ(out.interference[8].first.gb_per_s, 0);
}

TEST(Calibration, WithoutCopyEnginesTheRestIsMeasured) {
  const Measurements out = calibrated({"norm_interference"}, false);
  EXPECT_THAT(out.interference, SizeIs(2 * 7));
  EXPECT_THAT(to_yaml(out), HasSubstr("# not measured: norm_interference, with copy engines: no copy engine\n"));
}

TEST(Calibration, WhatCannotRunIsSkippedWithItsReason) {
  const Measurements out = calibrated();
  EXPECT_THAT(out.skipped, SizeIs(3));
  EXPECT_THAT(to_yaml(out),
              HasSubstr("# not measured: attention_forward: attention has no CUDA implementation in this build\n"));
  EXPECT_FALSE(out.curves.contains("kernels.attention_forward.128"));
  EXPECT_FALSE(out.rates.empty());
}

TEST(Calibration, AnUnknownExperimentIsRefused) { EXPECT_THROW(calibrated({"gemms"}), std::invalid_argument); }

TEST(Calibration, SimReadsTheFile) {
  Measurements out = calibrated();
  SimpleGpu gpu;
  for (const int connections : kConnections)
    for (const auto& seen : probe_queues(gpu, connections, 3)) out.hardware_queues.push_back(seen);
  const sim::Hardware read = sim::parse_hardware(to_yaml(out), "simple.measured.yaml");
  EXPECT_EQ(read.name, "simple");
  EXPECT_EQ(read.host.kernel_launch_us.value, 1);
  EXPECT_THAT(read.host.kernel_launch_us.source, HasSubstr("measured on a \"simple\" one: median of 5"));
  EXPECT_NEAR(read.kernels.gemm_bf16.curve(32768), 100.0 / 989, 1e-4);
  ASSERT_EQ(read.interference.size(), out.interference.size());
  EXPECT_EQ(read.interference[4].carried_gb_per_s, 225);
  ASSERT_EQ(read.hardware_queues.size(), 3U * 8U);
  for (std::size_t i = 0; i < read.hardware_queues.size(); ++i) {
    EXPECT_EQ(read.hardware_queues[i].behind, out.hardware_queues[i].first.behind);
    EXPECT_EQ(read.hardware_queues[i].same_queue, out.hardware_queues[i].first.same_queue);
    EXPECT_EQ(read.hardware_queues[i].held, out.hardware_queues[i].first.held);
  }
  EXPECT_EQ(read.measured.size(), out.figures.size() + out.curves.size());
}

TEST(HardwareQueues, AnswerSimsAssumption) {
  SimpleGpu gpu;
  // On one connection the next stream shares the queue, and this GPU lets it pass.
  const auto one = judge_queues(probe_queues(gpu, 1, 3));
  EXPECT_THAT(one, ElementsAre("1 connections, kernel, next stream: does not block, but sim assumes that it does",
                               "1 connections, wait, next stream: does not block, but sim assumes that it does"));
  EXPECT_THAT(judge_queues(probe_queues(gpu, 8, 3)), ElementsAre("as sim assumes"));
  EXPECT_THAT(judge_queues({}), ElementsAre("hardware queues were not probed"));
}

TEST(HardwareQueues, TravelAsLines) {
  sim::QueueObservation seen;
  int samples = 0;
  ASSERT_TRUE(
      from_line(to_line({.connections = 8, .behind = "wait", .same_queue = true, .held = 0.75, .spread = 0.5}, 11),
                seen, samples));
  EXPECT_EQ(seen.connections, 8);
  EXPECT_EQ(seen.behind, "wait");
  EXPECT_TRUE(seen.same_queue);
  EXPECT_EQ(seen.held, 0.75);
  EXPECT_EQ(samples, 11);
  EXPECT_FALSE(from_line("nvidia says hello 1 2 3 4", seen, samples));
}

TEST(HardwareQueues, AreProbedOnceForEachNumberOfConnections) {
  Measurements out;
  probe_all_queues(out, [](int connections) -> std::string {
    if (connections == 32) throw MachineError("no GPU");
    return "noise\n" + to_line({.connections = connections, .behind = "record"}, 3) + "\n";
  });
  ASSERT_THAT(out.hardware_queues, SizeIs(2));
  EXPECT_EQ(out.hardware_queues[1].first.connections, 8);
  EXPECT_THAT(out.skipped, ElementsAre(testing::Pair("hardware_queues at 32 connections", "no GPU")));
}

TEST(Child, GetsItsVariablesAndGivesItsOutput) {
  setenv("UNDERLAP_TEST_CHILD", "old", 1);
  EXPECT_EQ(run_child({"/bin/sh", "-c", "echo $UNDERLAP_TEST_CHILD; echo $HOME"}, {{"UNDERLAP_TEST_CHILD", "32"}}),
            std::string("32\n") + getenv("HOME") + "\n");
}

TEST(Child, ThatFailsIsAnError) {
  EXPECT_THROW(run_child({"/bin/sh", "-c", "exit 3"}, {}), MachineError);
  EXPECT_THROW(run_child({"/bin/sh", "-c", "kill -9 $$"}, {}), MachineError);
  EXPECT_THROW(run_child({"/no/such/program"}, {}), MachineError);
}

TEST(LinkValidation, ComparesTheTwoTimesWithLimits) {
  const Measurements out = calibrated({std::string(kLinkValidation)});
  ASSERT_THAT(out.link_validation, SizeIs(2));
  const LinkValidation& clusters = out.link_validation.front();
  EXPECT_EQ(clusters.cga_size, 4);
  EXPECT_NEAR(clusters.nccl_slowdown.value, 1.2, 1e-9);
  EXPECT_NEAR(clusters.difference.value, 0.01, 1e-9);
  EXPECT_LT(clusters.difference.low, 0.01);
  EXPECT_GT(clusters.difference.high, 0.01);
  EXPECT_NEAR(clusters.polling.value, -0.02, 1e-9);
  EXPECT_EQ(out.link_validation.back().cga_size, 1);
  EXPECT_THAT(to_yaml(out), HasSubstr("link_validation:"));
  EXPECT_THAT(
      to_yaml(out),
      HasSubstr("{sms: 16, cga: 4, by: memory, gb_per_s: 3, unpaced_gb_per_s: 4, nccl: [1.2000, 1.2000, 1.2000]"));
}

// It needs a process whose kernels are all loaded, and the others must not pay for that.
TEST(LinkValidation, RunsOnlyByItself) {
  EXPECT_THAT(calibrated().link_validation, IsEmpty());
  EXPECT_THROW(calibrated({"launch_latencies", std::string(kLinkValidation)}), std::invalid_argument);
}

TEST(Calibration, ATrialIsNoMeasuredFile) {
  Measurements out = calibrated({"launch_latencies"});
  out.shrink = 64;
  EXPECT_THAT(to_yaml(out), HasSubstr("schema: underlap.measured/1-trial"));
  EXPECT_THAT(to_yaml(out), HasSubstr("every size was divided by 64: these are not measurements"));
}

}  // namespace
}  // namespace underlap::bench
