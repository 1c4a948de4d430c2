// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "impl/device/recording_device.hpp"
#include "impl/device/sim/engine.hpp"
#include "tests/impl/device/device_testing.hpp"

/// Recorded programs in virtual time.
namespace underlap::testing_support {

inline sim::RankQueues::Source source_of(Program program) {
  return [recorded = std::move(program), done = false]() mutable -> std::optional<Program> {
    if (std::exchange(done, true)) return std::nullopt;
    return std::move(recorded);
  };
}

inline std::vector<sim::RankQueues::Source> sources_of(std::vector<Program> programs) {
  std::vector<sim::RankQueues::Source> sources;
  for (Program& program : programs) sources.push_back(source_of(std::move(program)));
  return sources;
}

inline Trace play(std::vector<Program> programs, const sim::TimeModel& times, std::int32_t connections) {
  sim::Engine engine(times, {.connections = connections}, sources_of(std::move(programs)));
  engine.play();
  return engine.take_trace();
}

/// How many conflicting uses are in flight at once where `programs` are played in virtual time with their durations
/// jittered, each by up to itself.
inline std::int64_t conflicts_in_virtual_time(const std::vector<Program>& programs, const sim::TimeModel& times,
                                              std::uint64_t seed) {
  sim::VirtualMemory memory(programs.size());
  sim::Engine engine(times, {.jitter = 1, .seed = seed, .records_slices = false, .memory = &memory},
                     sources_of(programs));
  engine.play();
  return memory.num_conflicts();
}

/// A device on which nothing slows anything else down, and whose copies take no time.
class UnsharedTimes : public sim::TimeModel {
 public:
  static constexpr int kSms = 100;

  sim::DeviceLimits limits() const override { return {.sms = kSms, .copy_engines = kSms}; }
  sim::HostCosts host() const override { return {}; }
  sim::KernelTime copy(std::int64_t) const override { return {.kind = sim::KernelTime::Kind::copy}; }
};

/// Sums `views` over data-parallel ranks in place, so that what they computed counts as equal.
inline void reduce_over(const Communicator& data, Device& device, Stream compute, const std::vector<View>& views,
                        std::int32_t step) {
  std::vector<Transfer> transfers;
  for (const View& view : views)
    transfers.push_back({.collective = Collective::all_reduce, .input = view, .output = view});
  device.wait(data.stream, device.record(compute));
  device.communicate(data, {.kind = Kind::communication, .mode = Mode::dp, .purpose = intern("reduce"), .step = step},
                     transfers);
  device.wait(compute, device.record(data.stream));
}

}  // namespace underlap::testing_support
