// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/device/recording_device.hpp"
#include "impl/device/sim/virtual_memory.hpp"

namespace underlap::sim {

/// What a rank's program runs on in virtual time: everything is recorded, and an engine plays it.
class SimDevice final : public RecordingDevice {
 public:
  /// `memory` null: nothing has memory. It outlives the device.
  SimDevice(std::int32_t rank, VirtualMemory* memory)
      : RecordingDevice(memory == nullptr ? Detail::costs : Detail::operations), rank_(rank), memory_(memory) {}

  /// Reads what has been played so far; without memory fills `bytes` with zeros.
  void download(const View& source, std::span<std::byte> bytes) override {
    RecordingDevice::download(source, bytes);
    if (memory_ != nullptr) memory_->download(rank_, source, bytes);
  }

 private:
  std::int32_t rank_;
  VirtualMemory* memory_;
};

}  // namespace underlap::sim
