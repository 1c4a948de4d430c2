// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/gpu_monitor.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "bench/machine/nvml.hpp"
#include "platform/errors.hpp"
#include "platform/nvidia_library.hpp"

namespace underlap::bench {
namespace {

// Idle (1) and clocks set by a user (2, 0x100) are not throttling.
constexpr std::array<std::pair<unsigned long long, std::string_view>, 6> kReasons{{
    {0x4, "power limit"},
    {0x8, "hardware slowdown"},
    {0x10, "sync boost"},
    {0x20, "thermal slowdown"},
    {0x40, "hardware thermal slowdown"},
    {0x80, "power brake"},
}};

// Values that a GPU does not report stay 0.
template <class Call, class... Arguments>
std::int32_t number(Call call, Arguments... arguments) {
  unsigned value = 0;
  return call(arguments..., &value) == 0 ? static_cast<std::int32_t>(value) : 0;
}

report::GpuState state_of(const Nvml& nvml, Nvml::Device device) {
  report::GpuState state{.sm_mhz = number(nvml.clock, device, Nvml::kClockSm),
                         .memory_mhz = number(nvml.clock, device, Nvml::kClockMemory),
                         .power_w = number(nvml.power, device) * 1e-3,
                         .temperature_c = number(nvml.temperature, device, Nvml::kSensorGpu)};
  unsigned long long bits = 0;
  if (nvml.reasons == nullptr || nvml.reasons(device, &bits) != 0) return state;
  for (const auto& [bit, reason] : kReasons)
    if ((bits & bit) != 0) state.throttle_reasons.emplace_back(reason);
  return state;
}

GpuFacts facts_of(const Nvml& nvml, unsigned index) {
  Nvml::Device device = nullptr;
  nvml.check(nvml.device_at_index(index, &device), "nvmlDeviceGetHandleByIndex");
  std::array<char, 96> name{}, driver{};
  nvml.check(nvml.name(device, name.data(), name.size()), "nvmlDeviceGetName");
  nvml.check(nvml.driver_version(driver.data(), driver.size()), "nvmlSystemGetDriverVersion");
  Nvml::Memory memory;
  Nvml::Utilization utilization;
  if (nvml.memory != nullptr) (void)nvml.memory(device, &memory);
  (void)nvml.utilization(device, &utilization);
  unsigned mig = 0, pending = 0;
  const bool has_mig = nvml.mig_mode != nullptr && nvml.mig_mode(device, &mig, &pending) == 0;
  return {.index = static_cast<std::int32_t>(index),
          .name = name.data(),
          .driver = driver.data(),
          .state = state_of(nvml, device),
          .most_sm_mhz = number(nvml.most_clock, device, Nvml::kClockSm),
          .memory_bytes = static_cast<std::int64_t>(memory.total),
          .used_bytes = static_cast<std::int64_t>(memory.used),
          .utilization_percent = static_cast<std::int32_t>(utilization.gpu),
          .is_mig = has_mig && mig != 0};
}

// CUDA's driver provides names and memory even on a machine without NVML.
std::vector<GpuFacts> find_gpus_by_driver() {
  const SharedLibrary driver = open_library(NvidiaLibrary::driver);
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*count)(int*) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*memory)(std::size_t*, int) = nullptr;
  driver.require("cuInit", init);
  driver.require("cuDriverGetVersion", version);
  driver.require("cuDeviceGetCount", count);
  driver.require("cuDeviceGetName", name);
  driver.require("cuDeviceTotalMem_v2", memory);
  int number = 0, cuda = 0;
  if (init(0) != 0 || count(&number) != 0) return {};
  (void)version(&cuda);
  std::vector<GpuFacts> gpus;
  for (int device = 0; device < number; ++device) {
    std::array<char, 96> text{};
    std::size_t bytes = 0;
    (void)name(text.data(), static_cast<int>(text.size()), device);
    (void)memory(&bytes, device);
    gpus.push_back({.has_nvml = false,
                    .index = device,
                    .name = text.data(),
                    .driver = fmt::format("CUDA {}.{}", cuda / 1000, cuda % 1000 / 10),
                    .memory_bytes = static_cast<std::int64_t>(bytes)});
  }
  return gpus;
}

std::vector<GpuFacts> find_gpus_by_nvml() {
  const Nvml nvml;
  unsigned count = 0;
  nvml.check(nvml.device_count(&count), "nvmlDeviceGetCount");
  std::vector<GpuFacts> gpus;
  for (unsigned index = 0; index < count; ++index) gpus.push_back(facts_of(nvml, index));
  return gpus;
}

}  // namespace

std::vector<GpuFacts> find_gpus() {
  try {
    return find_gpus_by_nvml();
  } catch (const MachineError&) {
    return find_gpus_by_driver();
  }
}

struct GpuMonitor::Watched {
  Nvml nvml;
  Nvml::Device device = nullptr;
  unsigned long long power_ns = 0, thermal_ns = 0;  // at begin()

  explicit Watched(const std::string& bus_id) {
    nvml.check(nvml.device_at_bus(bus_id.c_str(), &device), "nvmlDeviceGetHandleByPciBusId");
  }
  unsigned long long limited_ns(unsigned policy) const {
    Nvml::ViolationTime time;
    return nvml.violation != nullptr && nvml.violation(device, policy, &time) == 0 ? time.violation_ns : 0;
  }
};

GpuMonitor::GpuMonitor(const std::string& bus_id) {
  try {
    watched_ = std::make_unique<Watched>(bus_id);
  } catch (const MachineError& error) {
    why_not_ = fmt::format("GPU clocks, power and throttling are not recorded: {}", error.what());
  }
}

GpuMonitor::~GpuMonitor() = default;

void GpuMonitor::begin(report::GpuBlock& block) {
  if (watched_ == nullptr) return;
  watched_->power_ns = watched_->limited_ns(Nvml::kViolationPower);
  watched_->thermal_ns = watched_->limited_ns(Nvml::kViolationThermal);
  block.before = state_of(watched_->nvml, watched_->device);
}

void GpuMonitor::end(report::GpuBlock& block) {
  if (watched_ == nullptr) return;
  block.after = state_of(watched_->nvml, watched_->device);
  const auto since = [&](unsigned policy, unsigned long long before) {
    return static_cast<std::int64_t>(watched_->limited_ns(policy) - before);
  };
  block.power_limited_ns = since(Nvml::kViolationPower, watched_->power_ns);
  block.thermal_limited_ns = since(Nvml::kViolationThermal, watched_->thermal_ns);
}

}  // namespace underlap::bench
