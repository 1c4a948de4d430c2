// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "impl/device/sim/shipped_hardware.hpp"
#include "impl/plan/precision.hpp"

namespace underlap::sim {
namespace {

Peak peak_of(const plan::Config& config, const Gpu& gpu, std::string_view hardware) {
  const bool is_in_fp8 = plan::is_fp8(plan::scaling_of(config)) && gpu.fp8_tflops;
  return {is_in_fp8 ? gpu.fp8_tflops->value : gpu.bf16_tflops.value,
          fmt::format("{}, {}", hardware, is_in_fp8 ? "fp8" : "bf16")};
}

}  // namespace

Peak peak_of(const plan::Config& config) {
  return peak_of(config, load_hardware(config.run.hardware).gpu, config.run.hardware);
}

std::optional<Peak> peak_of(const plan::Config& config, std::string_view cuda_name) {
  for (const ShippedHardware& shipped : shipped_hardware()) {
    const Gpu gpu = load_hardware(std::string(shipped.name)).gpu;
    if (std::ranges::find(gpu.cuda_names, cuda_name) != gpu.cuda_names.end()) return peak_of(config, gpu, shipped.name);
  }
  return std::nullopt;
}

Hardware hardware_of(const plan::RunConfig& run) {
  Hardware hardware = load_hardware(run.hardware);
  hardware.gpu.bf16_tflops.value *= run.speed;
  if (hardware.gpu.fp8_tflops) hardware.gpu.fp8_tflops->value *= run.speed;
  return hardware;
}

std::string hardware_words(const plan::RunConfig& run) {
  return run.speed == 1 ? run.hardware : fmt::format("{} at speed {}", run.hardware, run.speed);
}

std::unique_ptr<TimeModel> make_time_model(const plan::Config& config) {
  return make_time_model(config, hardware_of(config.run));
}

std::unique_ptr<TimeModel> make_time_model(const plan::Config& config, Hardware hardware) {
  const Placement placement{.gpus_per_node = static_cast<std::int32_t>(config.run.gpus_per_node.value_or(0))};
  return std::make_unique<CostModel>(std::move(hardware), placement,
                                     static_cast<int>(config.environment.layernorm_sm_margin));
}

std::int64_t gpu_memory_bytes(const plan::Config& config) {
  return std::llround(load_hardware(config.run.hardware).gpu.hbm_gb.value * 1e9);
}

std::int64_t plannable_memory_bytes(const plan::Config& config) {
  constexpr double kWithMargin = 1.06;
  return std::llround(static_cast<double>(gpu_memory_bytes(config)) / kWithMargin);
}

}  // namespace underlap::sim
