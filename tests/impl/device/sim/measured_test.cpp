// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/measured.hpp"

#include "tests/impl/device/sim/hardware_files.hpp"

namespace underlap::sim {
namespace {

std::string synthetic() { return test::read_text_file("tests/data/hardware/synthetic.measured.yaml"); }

TEST(MeasuredFile, TakesThePlaceOfWhatItHolds) {
  const Hardware base = load_hardware("h100-sxm");
  const Hardware measured = parse_hardware(synthetic(), "m.yaml");
  EXPECT_EQ(measured.name, "synthetic.measured");
  EXPECT_EQ(measured.base, "h100-sxm");
  EXPECT_EQ(measured.host.kernel_launch_us.value, 2);
  EXPECT_FALSE(measured.host.kernel_launch_us.unverified);
  EXPECT_THAT(measured.host.kernel_launch_us.source, HasSubstr("measured on synthetic: median of 31, spread 0.1"));
  EXPECT_EQ(measured.gpu.kernel_overhead_us.value, 1);
  EXPECT_EQ(measured.kernels.memory.curve(1e9), 0.92);
  EXPECT_EQ(measured.kernels.attention_forward[1].over_sequence.curve(4096), 0.6);
  EXPECT_EQ(measured.host.event_wait_us.value, base.host.event_wait_us.value);
  EXPECT_EQ(measured.kernels.attention_forward[0].over_sequence.source,
            base.kernels.attention_forward[0].over_sequence.source);
  EXPECT_EQ(measured.collectives.size(), base.collectives.size());
}

TEST(MeasuredFile, SaysWhatIsMeasuredAndWhatIsStillUnverified) {
  const Hardware base = load_hardware("h100-sxm");
  const Hardware measured = parse_hardware(synthetic(), "m.yaml");
  EXPECT_THAT(measured.measured, ElementsAre("host.kernel_launch_us", "gpu.kernel_overhead_us", "kernels.memory",
                                             "kernels.attention_forward.128"));
  EXPECT_THAT(base.unverified, Contains("host.kernel_launch_us"));
  EXPECT_THAT(measured.unverified, Not(Contains("host.kernel_launch_us")));
  EXPECT_THAT(measured.unverified, Contains("host.event_wait_us"));
  EXPECT_EQ(measured.num_figures, base.num_figures);
  EXPECT_THAT(base.measured, IsEmpty());
}

TEST(MeasuredFile, GivesQueuesAndInterference) {
  const Hardware measured = parse_hardware(synthetic(), "m.yaml");
  ASSERT_EQ(measured.hardware_queues.size(), 2U);
  EXPECT_EQ(measured.hardware_queues[0].behind, "kernel");
  EXPECT_TRUE(measured.hardware_queues[0].same_queue);
  EXPECT_TRUE(measured.hardware_queues[0].holds());
  EXPECT_FALSE(measured.hardware_queues[1].holds());
  ASSERT_EQ(measured.interference.size(), 2U);
  EXPECT_EQ(measured.interference[0].sms, 16);
  EXPECT_EQ(measured.interference[0].slowdown, 1.25);
  EXPECT_TRUE(measured.interference[1].copy_engine);
}

TEST(MeasuredFile, EveryErrorHasItsPlace) {
  EXPECT_EQ(test::complaint(test::replaced(synthetic(), "median: 2,", "median: -2,")),
            "a.yaml:7:35: median is \"-2\", must be a number of 0 or more");
  const std::string point = "[1000, 0.1, 0.05]";
  test::expect_complaints(synthetic(),
                          {{"base: h100-sxm", "base: h100-sxn", "a.yaml:4:7: base: hardware \"h100-sxn\""},
                           {"host.kernel_launch_us", "host.kernel_lunch_us",
                            "not a figure that can be measured; did you mean host.kernel_launch_us?"},
                           {"kernels.memory:", "kernels.memories:", "did you mean kernels.memory?"},
                           {"attention_forward.128", "attention_forward.100", "not a curve that can be measured"},
                           {point, "[1000, 0.1]", "a point is three numbers"},
                           {point, "[1000, 1.2, 0.05]", "an efficiency is \"1.2\""},
                           {point, "[1e9, 0.1, 0.05]", "x must ascend"},
                           {"behind: kernel", "behind: kernels", "known: nothing, kernel, wait, record"},
                           {"of: gemm,", "of: gem,", "known: gemm, attention, norm"},
                           {"same_queue: true", "same_queue: maybe", "must be true or false"},
                           {"samples: 31}", "sample: 31}", "host.kernel_launch_us has no samples"},
                           {"machine:", "machines:", "the measured file has no machine"}});
}

}  // namespace
}  // namespace underlap::sim
