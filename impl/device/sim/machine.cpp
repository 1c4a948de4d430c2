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

// A described machine in its launch environment.
class Machine final : public TimeModel {
 public:
  Machine(CostModel model, int layernorm_sm_margin)
      : model_(std::move(model)), layernorm_sm_margin_(layernorm_sm_margin) {}

  std::int32_t gpus_per_node() const override { return model_.gpus_per_node(); }
  DeviceLimits limits() const override { return model_.limits(); }
  HostCosts host() const override { return model_.host(); }
  KernelTime kernel(const Cost& cost) const override { return model_.kernel(cost, layernorm_sm_margin_); }
  KernelTime copy(std::int64_t bytes) const override { return model_.copy_from_host(bytes); }
  TransferTime transfers(std::span<const TransferShape> group, std::span<const std::int32_t> members,
                         const CommunicatorHints& hints) const override {
    // The sender of a message comes first; the view's owner makes no other difference.
    const bool receives = group.size() == 1 && group[0].collective == Collective::receive;
    return model_.transfers(group, members, receives ? 1 : 0, hints);
  }

 private:
  CostModel model_;
  int layernorm_sm_margin_;
};

}  // namespace

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

std::unique_ptr<TimeModel> make_time_model(CostModel model, int layernorm_sm_margin) {
  return std::make_unique<Machine>(std::move(model), layernorm_sm_margin);
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
  return make_time_model(CostModel(std::move(hardware), placement),
                         static_cast<int>(config.environment.layernorm_sm_margin));
}

std::int64_t gpu_memory_bytes(const plan::Config& config) {
  return std::llround(load_hardware(config.run.hardware).gpu.hbm_gb.value * 1e9);
}

}  // namespace underlap::sim
