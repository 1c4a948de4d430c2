// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "impl/device/sim/cost_model.hpp"
#include "impl/device/sim/hardware.hpp"
#include "impl/device/sim/time_model.hpp"

namespace underlap::plan {
struct Config;
struct RunConfig;
}  // namespace underlap::plan

namespace underlap::sim {

/// The machine of run.hardware, with GEMMs and attention at run.speed times the described rate. Throws as
/// load_hardware() does.
Hardware hardware_of(const plan::RunConfig& run);

/// Its display name: "h100-sxm", "h100-sxm at speed 0.8".
std::string hardware_words(const plan::RunConfig& run);

/// The data sheet's dense peak of one GPU in the format of `config`'s products. MFU is a share of this peak, regardless
/// of run.speed.
struct Peak {
  double tflops = 0;
  std::string of;  ///< "h100-sxm, bf16"
};
/// Throws as load_hardware() does.
Peak peak_of(const plan::Config& config);
/// The same for a GPU with this CUDA name, from the built-in descriptions; nothing if no description matches.
std::optional<Peak> peak_of(const plan::Config& config, std::string_view cuda_name);

/// The machine of `config`: run.hardware at run.speed, run.gpus_per_node and the LayerNorm SM margin of its
/// environment. Throws std::invalid_argument with every error of the hardware file, each with file, line and column.
std::unique_ptr<TimeModel> make_time_model(const plan::Config& config);

/// The same with the result of hardware_of(): reading a description takes as long as a thousand operations.
std::unique_ptr<TimeModel> make_time_model(const plan::Config& config, Hardware hardware);

/// Memory of one GPU in the machine of `config`. Throws as make_time_model() does.
std::int64_t gpu_memory_bytes(const plan::Config& config);

/// How much of it predicted memory may take: 1 / 1.06. The rest is for fragmentation, which is not predicted. With this
/// margin the prediction is right for 326 of 347 published layouts on A100s: 17 of 187 that ran out of memory are
/// predicted to fit, and 4 of 160 that ran are not (tests/impl/device/sim/published_layouts_test.cpp).
std::int64_t plannable_memory_bytes(const plan::Config& config);

}  // namespace underlap::sim
