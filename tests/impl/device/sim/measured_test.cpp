// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/measured.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/impl/device/sim/hardware_files.hpp"

namespace underlap::sim {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string synthetic() { return test::read_text_file("tests/data/hardware/synthetic.measured.yaml"); }

std::string complaint_of_measured(const std::string& from, const std::string& to) {
  std::string yaml = synthetic();
  const std::size_t at = yaml.find(from);
  if (at == std::string::npos) throw std::logic_error("no " + from);
  try {
    parse_hardware(yaml.replace(at, from.size(), to), "m.yaml");
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

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
  EXPECT_EQ(complaint_of_measured("median: 2,", "median: -2,"),
            "m.yaml:7:35: median is \"-2\", must be a number of 0 or more");
  EXPECT_THAT(complaint_of_measured("base: h100-sxm", "base: h100-sxn"),
              HasSubstr("m.yaml:4:7: base: hardware \"h100-sxn\""));
  EXPECT_THAT(complaint_of_measured("host.kernel_launch_us", "host.kernel_lunch_us"),
              HasSubstr("no figure that can be measured; did you mean host.kernel_launch_us?"));
  EXPECT_THAT(complaint_of_measured("kernels.memory:", "kernels.memories:"), HasSubstr("did you mean kernels.memory?"));
  EXPECT_THAT(complaint_of_measured("attention_forward.128", "attention_forward.100"),
              HasSubstr("no curve that can be measured"));
  EXPECT_THAT(complaint_of_measured("[1000, 0.1, 0.05]", "[1000, 0.1]"), HasSubstr("a point is three numbers"));
  EXPECT_THAT(complaint_of_measured("[1000, 0.1, 0.05]", "[1000, 1.2, 0.05]"), HasSubstr("an efficiency is \"1.2\""));
  EXPECT_THAT(complaint_of_measured("[1000, 0.1, 0.05]", "[1e9, 0.1, 0.05]"), HasSubstr("x must ascend"));
  EXPECT_THAT(complaint_of_measured("behind: kernel", "behind: kernels"),
              HasSubstr("known: nothing, kernel, wait, record"));
  EXPECT_THAT(complaint_of_measured("of: gemm,", "of: gem,"), HasSubstr("known: gemm, attention, norm"));
  EXPECT_THAT(complaint_of_measured("same_queue: true", "same_queue: maybe"), HasSubstr("must be true or false"));
  EXPECT_THAT(complaint_of_measured("samples: 31}", "sample: 31}"), HasSubstr("host.kernel_launch_us has no samples"));
  EXPECT_THAT(complaint_of_measured("machine:", "machines:"), HasSubstr("the measured file has no machine"));
}

}  // namespace
}  // namespace underlap::sim
