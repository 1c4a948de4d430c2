// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace underlap::bench {

struct NvmlDevice;

/// NVML's functions, opened and started for as long as this lives. NVML comes with the driver and needs no CUDA.
///
/// Its interface has kept these types and numbers since CUDA 8 (nvml.h of the driver package), so its header is not
/// needed to build. Functions answer 0 for success.
class Nvml {
 public:
  using Result = int;
  using Device = NvmlDevice*;
  struct ViolationTime {
    unsigned long long reference_us = 0;
    unsigned long long violation_ns = 0;
  };
  /// nvmlMemory_v2_t, in bytes. What the driver keeps for itself, 0.6 GB of an H200, is reserved and not used.
  struct Memory {
    unsigned version = sizeof(Memory) | 2U << 24;
    unsigned long long total = 0, reserved = 0, free = 0, used = 0;
  };
  struct Utilization {
    unsigned gpu = 0, memory = 0;  // per cent of the last second
  };
  static constexpr unsigned kClockSm = 1, kClockMemory = 2, kSensorGpu = 0;
  static constexpr unsigned kViolationPower = 0, kViolationThermal = 1;

  /// Throws MachineError if there is no NVML or it cannot be started.
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Throws MachineError with NVML's words.
  void check(Result result, const char* call) const;

  Result (*device_at_bus)(const char*, Device*) = nullptr;
  Result (*device_at_index)(unsigned, Device*) = nullptr;
  Result (*device_count)(unsigned*) = nullptr;
  Result (*driver_version)(char*, unsigned) = nullptr;
  Result (*name)(Device, char*, unsigned) = nullptr;
  Result (*clock)(Device, unsigned, unsigned*) = nullptr;
  Result (*most_clock)(Device, unsigned, unsigned*) = nullptr;
  Result (*power)(Device, unsigned*) = nullptr;
  Result (*temperature)(Device, unsigned, unsigned*) = nullptr;
  Result (*utilization)(Device, Utilization*) = nullptr;
  // null where the driver is too old or the GPU has none:
  Result (*memory)(Device, Memory*) = nullptr;
  Result (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  Result (*reasons)(Device, unsigned long long*) = nullptr;
  Result (*violation)(Device, unsigned, ViolationTime*) = nullptr;

 private:
  Result (*shutdown_)() = nullptr;
  const char* (*error_text_)(Result) = nullptr;
};

}  // namespace underlap::bench
