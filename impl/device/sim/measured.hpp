// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/device/sim/hardware.hpp"
#include "platform/yaml_document.hpp"

namespace underlap::sim {

/// Measurements of one GPU on top of a description: results/hardware/NAME.measured.yaml, as underlap-calibrate writes
/// it.
///
///   schema: underlap.measured/1
///   name: h200.measured
///   base: h200-sxm                  a description that the program carries, or the path of one
///   machine: {gpu: ..., driver: ...}  texts, not interpreted
///   figures: {host.kernel_launch_us: {median: 2.1, spread: 0.03, samples: 31}}   in place of the base's
///   curves: {kernels.memory: {samples: 31, points: [[bytes, efficiency, spread], ...]}}   likewise, as a whole
///   hardware_queues: [{connections: 1, behind: wait, same_queue: true, held: 1, spread: 0, samples: 11}]
///   interference: [{communication: kernel, sms: 16, gb_per_s: 450, carried_gb_per_s: 449.2, of: gemm, slowdown: 1.2,
///                   spread: 0, samples: 11}]    requested rate, and the carried rate if measured
///   link_validation: [{sms: 16, cga: 4, by: memory, gb_per_s: 214, nccl: [1.16, 1.15, 1.17], emulated: [...],
///                      difference: [0.004, -0.002, 0.009], rounds: 7}]    a GEMM during NCCL and
///                      the emulated link, for people
///   rates: [{of: gemm_fprop, shape: ..., us: ..., spread: ..., samples: ..., tflops: ...}]   for people
///
/// A spread is half of the middle half of the samples over their median. All keys below machine may be absent.
inline constexpr std::string_view kMeasuredSchema = "underlap.measured/1";

/// Whether a file declares the schema underlap.measured.
bool is_measured(const yaml::Node& root);

/// The base with its figures replaced by measurements. Every error is added to `problems`; the value is then invalid.
Hardware read_measured(const yaml::Node& root, yaml::Problems& problems);

/// The paths of figures and curves that a measured file may hold.
std::vector<std::string> measurable_paths(const Hardware& base);

}  // namespace underlap::sim
