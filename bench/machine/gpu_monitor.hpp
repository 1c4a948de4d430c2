// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profiler/report/gpu_state.hpp"

namespace underlap::bench {

/// A GPU as the driver describes it, without a CUDA context.
struct GpuFacts {
  bool has_nvml = true;  ///< false: only index, name, driver and memory_bytes are known, from CUDA's driver
  std::int32_t index = 0;
  std::string name;
  std::string driver;
  report::GpuState state{};
  std::int32_t most_sm_mhz = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t used_bytes = 0;           ///< by any process
  std::int32_t utilization_percent = 0;  ///< of the last second
  bool is_mig = false;                   ///< it is divided into instances (MIG)
};

/// The GPUs of this machine, by index: from NVML, else from CUDA's driver. Throws MachineError if neither is available.
std::vector<GpuFacts> find_gpus();

/// Reads clocks, power, temperature and throttle reasons of one GPU around each block.
///
/// A reading takes well under a millisecond of host time, and no GPU time.
class GpuMonitor {
 public:
  /// The GPU at PCI address `bus_id` ("0000:65:00.0"). Never throws: without NVML, why_not() gives the reason.
  explicit GpuMonitor(const std::string& bus_id);
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  /// Why nothing is read, in one line; empty: readings are available.
  const std::string& why_not() const { return why_not_; }

  /// Starts a block: reads the state before it.
  void begin(report::GpuBlock& block);
  /// Ends a block: reads the state after it, and for how long clocks were lowered since begin().
  void end(report::GpuBlock& block);

 private:
  struct Watched;
  std::unique_ptr<Watched> watched_;
  std::string why_not_;
};

}  // namespace underlap::bench
