// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/impl/virtual_time.hpp"
#include "tests/testing.hpp"

namespace underlap::sim {

/// Durations that stand in the operations themselves: flops are nanoseconds alone, bytes_read the memory traffic,
/// bytes_written the number of tiles (0: elastic), sms negative: persistent on that many. A transfer takes a nanosecond
/// a byte and fills the NVLink.
class TestTimes : public TimeModel {
 public:
  DeviceLimits limits() const override { return limits_; }
  HostCosts host() const override { return host_; }
  KernelTime kernel(const Cost& cost) const override {
    KernelTime time{.alone_ns = cost.flops, .sms = cost.sms, .hbm_bytes = static_cast<double>(cost.bytes_read)};
    if (cost.sms < 0) {
      time.kind = KernelTime::Kind::persistent;
      time.sms = -cost.sms;
    } else if (cost.bytes_written > 0) {
      time.kind = KernelTime::Kind::waves;
      time.tiles = cost.bytes_written;
      time.fixed_ns = fixed_ns_;
      time.sms = cost.sms > 0 ? cost.sms : limits_.sms;
    }
    return time;
  }
  KernelTime copy(std::int64_t bytes) const override {
    return {.kind = KernelTime::Kind::copy, .alone_ns = static_cast<double>(bytes)};
  }
  TransferTime transfers(std::span<const TransferShape> group, std::span<const std::int32_t>,
                         const CommunicatorHints& hints) const override {
    TransferTime time{.sms = hints.sms};
    for (const TransferShape& shape : group) time.alone_ns += static_cast<double>(shape.bytes);
    time.nvlink_bytes = time.alone_ns * limits_.nvlink_bytes_per_ns;
    return time;
  }

  DeviceLimits limits_{
      .sms = 100, .copy_engines = 2, .hbm_bytes_per_ns = 1000, .nvlink_bytes_per_ns = 100, .network_bytes_per_ns = 10};
  HostCosts host_;
  double fixed_ns_ = 0;  ///< of kernels of waves
};

inline void do_nothing(const Arguments&) {}

/// An operation that takes `ns` alone.
inline Operation kernel(double ns, Cost cost = {}) {
  cost.flops = ns;
  return Operation(intern("kernel"), do_nothing, cost, {});
}
inline Operation waves(double ns, std::int64_t tiles) { return kernel(ns, {.bytes_written = tiles}); }

using testing_support::all_reduce_of;
using testing_support::receive_from;
using testing_support::send_to;

inline Tag named(std::string_view purpose) { return {.purpose = intern(purpose)}; }
inline void communicate(RecordingDevice& device, const Communicator& communicator, std::string_view purpose,
                        std::initializer_list<Transfer> transfers) {
  device.communicate(communicator, named(purpose), transfers);
}

/// Ranks that record a program each and play them together.
class World {
 public:
  explicit World(std::int32_t size) {
    for (std::int32_t r = 0; r < size; ++r) devices.push_back(std::make_unique<RecordingDevice>());
  }

  Group group(std::int32_t rank) const {
    return testing_support::group_of(static_cast<std::int32_t>(devices.size()), rank);
  }
  RecordingDevice& operator[](std::size_t rank) { return *devices[rank]; }
  /// Has each rank, with the group of all, enqueue something.
  void record(const std::function<void(RecordingDevice&, const Group&)>& enqueue) {
    for (std::size_t r = 0; r < devices.size(); ++r) enqueue(*devices[r], group(static_cast<std::int32_t>(r)));
  }
  /// What playing threw.
  std::string error() {
    return thrown_by([this] { play(); });
  }

  /// Plays all programs, and says when what began and ended: "rank stream purpose" -> {start, end}.
  struct Interval {
    std::int64_t start = 0;
    std::int64_t end = 0;
    friend bool operator==(const Interval&, const Interval&) = default;
    friend void PrintTo(const Interval& i, std::ostream* out) { *out << "[" << i.start << ", " << i.end << ")"; }
  };
  using Times = std::map<std::string, Interval>;
  Times play(EngineOptions options = {}) {
    std::vector<Program> programs;
    for (const auto& device : devices) programs.push_back(device->take_program());
    const TimeModel& model = machine ? *machine : times;
    Engine engine(model, options, testing_support::sources_of(std::move(programs)));
    engine.play();
    trace = engine.take_trace();
    Times result;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      const Track& track = trace.tracks[trace.track(i)];
      result[std::to_string(track.rank) + " " + track.name + " " + std::string(name_of(trace.tag(i).purpose))] = {
          trace.start_ns()[i], trace.end_ns(i)};
    }
    return result;
  }

  TestTimes times;
  std::unique_ptr<TimeModel> machine;  ///< plays in place of `times` where it is there
  Trace trace;
  std::vector<std::unique_ptr<RecordingDevice>> devices;
};

}  // namespace underlap::sim
