// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "impl/device/recording_device.hpp"
#include "impl/device/sim/virtual_memory.hpp"

namespace underlap::sim {

/// The device of a rank's program in virtual time: it records all calls, and an engine simulates them.
class SimDevice final : public RecordingDevice {
 public:
  /// `memory` null: nothing has memory. It outlives the device.
  SimDevice(std::int32_t rank, VirtualMemory* memory)
      : RecordingDevice(memory == nullptr ? Detail::costs : Detail::operations), rank_(rank), memory_(memory) {}

  void communicate(const Communicator& communicator, const Tag& tag, std::span<const Transfer> transfers) override {
    const ProgramCommunicator& declared = program().communicators.at(communicator.id);
    if (transfers.empty()) throw std::invalid_argument(declared.purpose + ": a group without transfers");
    for (const Transfer& transfer : transfers) check_transfer(transfer, declared.group);
    RecordingDevice::communicate(communicator, tag, transfers);
  }

  void upload(Stream stream, const Tag& tag, const View& destination, std::span<const std::byte> bytes) override {
    if (!destination.is_dense() || std::cmp_not_equal(destination.bytes(), bytes.size()))
      throw std::invalid_argument(fmt::format("upload of {} bytes to a view of {}", bytes.size(), destination.bytes()));
    RecordingDevice::upload(stream, tag, destination, bytes);
  }

  /// Reads what has been simulated so far; without memory fills `bytes` with zeros.
  void download(const View& source, std::span<std::byte> bytes) override {
    RecordingDevice::download(source, bytes);
    if (memory_ != nullptr) memory_->download(rank_, source, bytes);
  }

 private:
  std::int32_t rank_;
  VirtualMemory* memory_;
};

}  // namespace underlap::sim
