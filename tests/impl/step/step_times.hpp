// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/device/sim/time_model.hpp"

namespace underlap::testing_support {

/// Compute takes a nanosecond for each byte that it moves, the wire `ns_per_byte` for each byte of the message; nothing
/// slows anything else down.
class StepTimes final : public sim::TimeModel {
 public:
  explicit StepTimes(double ns_per_byte) : ns_per_byte_(ns_per_byte) {}

  sim::DeviceLimits limits() const override {
    return {.sms = 1'000'000,
            .copy_engines = 1,
            .hbm_bytes_per_ns = 1,
            .nvlink_bytes_per_ns = 1,
            .network_bytes_per_ns = 1};
  }
  sim::HostCosts host() const override { return {}; }
  sim::KernelTime kernel(const Cost& cost) const override {
    return {.kind = sim::KernelTime::Kind::persistent,
            .alone_ns = static_cast<double>(cost.bytes_read + cost.bytes_written),
            .sms = 1};
  }
  sim::KernelTime copy(std::int64_t bytes) const override {
    return {.kind = sim::KernelTime::Kind::copy, .alone_ns = static_cast<double>(bytes)};
  }
  sim::TransferTime transfers(std::span<const sim::TransferShape> group, std::span<const std::int32_t> members,
                              const CommunicatorHints&) const override {
    sim::TransferTime time;
    if (members.size() < 2) return time;
    for (const sim::TransferShape& shape : group) time.alone_ns += ns_per_byte_ * static_cast<double>(shape.bytes);
    return time;
  }

 private:
  double ns_per_byte_;
};

}  // namespace underlap::testing_support
