// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/machine.hpp"

#include <algorithm>

namespace underlap::sim {
namespace {

class Roofline final : public TimeModel {
 public:
  DeviceLimits limits() const override {
    return {.sms = 132,
            .copy_engines = 8,
            .hbm_bytes_per_ns = 3350,
            .nvlink_bytes_per_ns = 450,
            .network_bytes_per_ns = 50};
  }
  HostCosts host() const override { return {}; }
  KernelTime kernel(const Cost& cost) const override {
    const auto bytes = static_cast<double>(cost.bytes_read + cost.bytes_written);
    return {.alone_ns = std::max(cost.flops / 6e5, bytes / 3000), .sms = 66, .hbm_bytes = bytes};
  }
  KernelTime copy(std::int64_t bytes) const override {
    return {.form = KernelTime::Form::copy, .alone_ns = static_cast<double>(bytes) / 50};
  }
  TransferTime transfers(std::span<const TransferShape> group, std::span<const std::int32_t> members,
                         const CommunicatorHints&) const override {
    TransferTime time{.algorithm = {}, .protocol = {}};
    if (members.size() == 1) return time;
    time.alone_ns = 10'000;
    for (const TransferShape& shape : group) time.nvlink_bytes += static_cast<double>(shape.bytes);
    time.alone_ns += time.nvlink_bytes / 300;
    return time;
  }
};

}  // namespace

std::unique_ptr<TimeModel> make_time_model(const plan::Config&) { return std::make_unique<Roofline>(); }

}  // namespace underlap::sim
