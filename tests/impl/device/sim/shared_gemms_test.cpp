// SPDX-License-Identifier: Apache-2.0
// GEMMs of several streams on one device: they fill the tails of each other's waves, and are never faster than the
// device.
#include <random>

#include "impl/device/sim/machine.hpp"
#include "tests/impl/device/sim/hardware_files.hpp"
#include "tests/impl/device/sim/world.hpp"

namespace underlap::sim {
namespace {

using Interval = World::Interval;

constexpr std::int64_t kWaveNs = 10'000;  // of tiles of 100 x 100 x 500

// A GEMM of that many tiles, a hundredth of whose time is a tile's.
Operation gemm_of(std::int64_t tiles, std::int64_t bytes = 1) {
  const Cost cost{.bytes_read = bytes, .work = Work::gemm, .extent = {100 * tiles, 100, 500}};
  return Operation(intern("gemm"), do_nothing, cost, {});
}

World::Times play_at_once(const std::vector<Operation>& gemms) {
  World world(1);
  world.machine = std::make_unique<CostModel>(test::round_hardware());
  for (std::size_t i = 0; i < gemms.size(); ++i) {
    const std::string name = "gemm " + std::to_string(i);
    world[0].launch(world[0].create_stream("s"), named(name), gemms[i]);
  }
  return world.play();
}

TEST(SharedGemms, OneFillsTheTailOfAnother) {
  const auto times = play_at_once({gemm_of(150), gemm_of(150)});
  EXPECT_EQ(times.at("0 s gemm 0"), (Interval{0, 2 * kWaveNs}));
  EXPECT_EQ(times.at("0 s gemm 1"), (Interval{kWaveNs, 3 * kWaveNs})) << "50 beside the first one's last 50, then 100";
}

TEST(SharedGemms, ThreeSmallOnesAreTwoWavesOfThemAll) {
  const auto times = play_at_once({gemm_of(140), gemm_of(140), gemm_of(140)});
  EXPECT_EQ(times.at("0 s gemm 0").end, 2 * kWaveNs);
  EXPECT_EQ(times.at("0 s gemm 1").end, 3 * kWaveNs);
  EXPECT_EQ(times.at("0 s gemm 2").end, 5 * kWaveNs) << "420 tiles are 5 waves";
}

TEST(SharedGemms, ThoseThatMemoryLimitsTakeItInTurn) {
  const Operation reader = gemm_of(100, 20'000'000);  // 20 us of the memory
  const auto times = play_at_once({reader, reader, reader});
  EXPECT_EQ(times.at("0 s gemm 2").end, 60'000);
}

TEST(SharedGemms, AreNeverFasterThanTheDeviceNorSlowerThanOneAfterTheOther) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    std::vector<Operation> gemms;
    std::int64_t tiles = 0, in_turn_ns = 0, bytes = 0;
    for (int g = 0; g < 3; ++g) {
      const std::int64_t count = std::uniform_int_distribution(100, 700)(random);
      const std::int64_t traffic = std::uniform_int_distribution(1, 9'000'000)(random);
      gemms.push_back(gemm_of(count, traffic));
      tiles += count, bytes += traffic, in_turn_ns += (count + 99) / 100 * kWaveNs;
    }
    std::int64_t end = 0;
    for (const auto& [name, time] : play_at_once(gemms)) end = std::max(end, time.end);
    EXPECT_GE(end, tiles * kWaveNs / 100);
    EXPECT_GE(end, bytes / 1000);
    EXPECT_LE(end, in_turn_ns);
  }
}

}  // namespace
}  // namespace underlap::sim
