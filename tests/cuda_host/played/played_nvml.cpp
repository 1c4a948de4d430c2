// SPDX-License-Identifier: Apache-2.0
// An NVML of one GPU with steady clocks.
#include <cstdio>

#include "tests/cuda_host/machine.hpp"
#include "tests/cuda_host/played/played_gpu.hpp"

namespace underlap::cuda_host {
namespace {

struct ViolationTime {
  unsigned long long reference_us = 0;
  unsigned long long violation_ns = 0;
};
struct Memory {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Utilization {
  unsigned gpu = 0, memory = 0;
};

constexpr int kNotSupported = 3, kNotFound = 6, kVersionMismatch = 25;
char device = 0;  // what a handle points to: nobody looks

const PlayedGpu& gpu() { return PlayedGpu::instance(); }

int init() { return 0; }
int shutdown() { return 0; }
int by_bus_id(const char*, void** handle) {
  *handle = &device;
  return 0;
}
int by_index(unsigned index, void** handle) {
  *handle = &device;
  return static_cast<int>(index) < Machine::instance().num_devices() ? 0 : kNotFound;
}
int count(unsigned* number) {
  *number = static_cast<unsigned>(Machine::instance().num_devices());
  return 0;
}
const char* error_text(int status) { return status == kNotFound ? "Not Found" : "an error"; }
int driver_version(char* text, unsigned bytes) {
  std::snprintf(text, bytes, "580.0 (played)");
  return 0;
}
int name(void*, char* text, unsigned bytes) {
  std::snprintf(text, bytes, "host threads");
  return 0;
}
int clock(void*, unsigned kind, unsigned* mhz) {
  *mhz = kind == 2 ? 2619 : 1980;
  return 0;
}
int power(void*, unsigned* milliwatts) {
  *milliwatts = 350'000;
  return 0;
}
int temperature(void*, unsigned, unsigned* celsius) {
  *celsius = 45;
  return 0;
}
int reasons(void*, unsigned long long* bits) {
  *bits = gpu().has("throttled") ? 0x4 : 0x1;
  return 0;
}
int violation(void*, unsigned policy, ViolationTime* time) {
  static unsigned long long sum = 0;
  if (policy > 1) return kNotSupported;
  if (gpu().has("throttled") && policy == 0) sum += 5'000'000;
  *time = {.reference_us = 0, .violation_ns = policy == 0 ? sum : 0};
  return 0;
}
int memory(void*, Memory* bytes) {
  if (bytes->version != 0x2000028) return kVersionMismatch;
  constexpr unsigned long long kReserved = 640'000'000;  // nobody's work
  const unsigned long long total = Machine::instance().memory_bytes();
  const unsigned long long used = gpu().has("busy") ? total / 2 : 0;
  *bytes = {
      .version = bytes->version, .total = total, .reserved = kReserved, .free = total - used - kReserved, .used = used};
  return 0;
}
int utilization(void*, Utilization* percent) {
  *percent = {.gpu = gpu().has("busy") ? 90U : 0U, .memory = 0};
  return 0;
}
int mig(void*, unsigned* now, unsigned* pending) {
  *now = *pending = gpu().has("mig") ? 1 : 0;
  return 0;
}

}  // namespace

std::map<std::string, void*> played_nvml_functions() {
  return {{"nvmlInit_v2", address_of(init)},
          {"nvmlShutdown", address_of(shutdown)},
          {"nvmlDeviceGetHandleByPciBusId_v2", address_of(by_bus_id)},
          {"nvmlDeviceGetHandleByIndex_v2", address_of(by_index)},
          {"nvmlDeviceGetCount_v2", address_of(count)},
          {"nvmlErrorString", address_of(error_text)},
          {"nvmlSystemGetDriverVersion", address_of(driver_version)},
          {"nvmlDeviceGetName", address_of(name)},
          {"nvmlDeviceGetClockInfo", address_of(clock)},
          {"nvmlDeviceGetMaxClockInfo", address_of(clock)},
          {"nvmlDeviceGetPowerUsage", address_of(power)},
          {"nvmlDeviceGetTemperature", address_of(temperature)},
          {"nvmlDeviceGetCurrentClocksEventReasons", address_of(reasons)},
          {"nvmlDeviceGetViolationStatus", address_of(violation)},
          {"nvmlDeviceGetMemoryInfo_v2", address_of(memory)},
          {"nvmlDeviceGetUtilizationRates", address_of(utilization)},
          {"nvmlDeviceGetMigMode", address_of(mig)}};
}

}  // namespace underlap::cuda_host
