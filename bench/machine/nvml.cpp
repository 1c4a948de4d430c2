// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/nvml.hpp"

#include <fmt/format.h>

#include "platform/errors.hpp"
#include "platform/nvidia_library.hpp"

namespace underlap::bench {

Nvml::Nvml() {
  const SharedLibrary library = open_library(NvidiaLibrary::nvml);
  Result (*init)() = nullptr;
  library.require("nvmlInit_v2", init);
  library.require("nvmlShutdown", shutdown_);
  library.require("nvmlErrorString", error_text_);
  library.require("nvmlDeviceGetHandleByPciBusId_v2", device_at_bus);
  library.require("nvmlDeviceGetHandleByIndex_v2", device_at_index);
  library.require("nvmlDeviceGetCount_v2", device_count);
  library.require("nvmlSystemGetDriverVersion", driver_version);
  library.require("nvmlDeviceGetName", name);
  library.require("nvmlDeviceGetClockInfo", clock);
  library.require("nvmlDeviceGetMaxClockInfo", most_clock);
  library.require("nvmlDeviceGetPowerUsage", power);
  library.require("nvmlDeviceGetTemperature", temperature);
  library.require("nvmlDeviceGetUtilizationRates", utilization);
  library.find("nvmlDeviceGetMemoryInfo_v2", memory);  // of driver 510
  library.find("nvmlDeviceGetMigMode", mig_mode);
  library.find("nvmlDeviceGetCurrentClocksEventReasons", reasons);  // its name from CUDA 12.2 on
  if (reasons == nullptr) library.find("nvmlDeviceGetCurrentClocksThrottleReasons", reasons);
  library.find("nvmlDeviceGetViolationStatus", violation);
  check(init(), "nvmlInit");
}

Nvml::~Nvml() { (void)shutdown_(); }

void Nvml::check(Result result, const char* call) const {
  if (result != 0) throw MachineError(fmt::format("{}: {}", call, error_text_(result)));
}

}  // namespace underlap::bench
