// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/clock_check.hpp"

#include "tests/testing.hpp"

namespace underlap::cuda {
namespace {

/// Kernels of 1 ms, 10 ms apart; CUPTI's clock runs `ppm` fast and its kernels are `longer_ns` longer.
std::vector<TwiceTimed> kernels(double ppm, std::int64_t longer_ns, std::int64_t jitter_ns = 0) {
  constexpr std::int64_t kEpoch = 1'700'000'000'000'000'000;
  std::vector<TwiceTimed> all;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t stamp = 10'000'000LL * i;
    const auto start = static_cast<std::int64_t>(static_cast<double>(stamp) * (1 + ppm * 1e-6)) + (i % 2) * jitter_ns;
    all.push_back({.trace_start_ns = start,
                   .trace_end_ns = start + 1'000'000 + longer_ns,
                   .stamp_start_ns = kEpoch + stamp,
                   .stamp_end_ns = kEpoch + stamp + 1'000'000});
  }
  return all;
}

TEST(ClockCheck, EqualClocksWithAnotherOriginAgree) {
  const ClockCheck check = check_clocks(kernels(0, 0));
  EXPECT_EQ(check.num_kernels, 100);
  EXPECT_DOUBLE_EQ(check.duration_ratio, 1);
  EXPECT_NEAR(check.start_spread_us, 0, 1e-6);
  EXPECT_NEAR(check.drift_ppm, 0, 1e-6);
}

TEST(ClockCheck, FindsDriftLengthAndScatter) {
  const ClockCheck check = check_clocks(kernels(20, 2'000, 600));
  EXPECT_NEAR(check.drift_ppm, 20, 0.1);
  EXPECT_NEAR(check.duration_ratio, 1.002, 1e-9);
  EXPECT_NEAR(check.duration_excess_us, 2, 1e-9);
  EXPECT_NEAR(check.start_spread_us, 0.6, 0.1);  // either side of the constant offset that fits best
  EXPECT_THAT(to_text(check), HasSubstr("100 kernels: durations 1.0020 times as long (+2.0 us)"));
}

TEST(ClockCheck, WithoutKernelsThereIsNothingToCompare) {
  EXPECT_EQ(check_clocks({}).num_kernels, 0);
  EXPECT_EQ(to_text(check_clocks({})), "CUPTI against %globaltimer: no kernel was timed by both");
}

TEST(ClockCheck, TransfersAreMatchedByCommunicatorAndSequence) {
  Trace trace;
  const std::uint32_t track = trace.add_track({.rank = 0, .stream = 1, .name = "dp"});
  const auto add = [&](std::int64_t start_ns, std::uint32_t group, std::uint64_t sequence) {
    trace.add({.track = track, .start_ns = start_ns, .duration_ns = 10, .tag = {.kind = Kind::communication}},
              CommunicationRecord{.group = group, .sequence = sequence, .transfers = {}});
  };
  add(100, 0, 5);
  add(200, 1, 5);
  add(300, 0, 6);
  const std::vector<StampedTransfer> stamps{
      {.communicator = 1, .sequence = 5, .start_ns = 7, .end_ns = 17},
      {.communicator = 0, .sequence = 6, .is_one_kernel = false, .start_ns = 8, .end_ns = 18},
      {.communicator = 2, .sequence = 5, .start_ns = 9, .end_ns = 19}};
  const std::vector<TwiceTimed> matched = match_stamps(trace, stamps);
  ASSERT_EQ(matched.size(), 1U);
  EXPECT_EQ(matched[0].trace_start_ns, 200);
  EXPECT_EQ(matched[0].stamp_end_ns, 17);
}

}  // namespace
}  // namespace underlap::cuda
