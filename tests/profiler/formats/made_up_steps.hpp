// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace underlap::testing_support {

/// One operation of a made-up training step, in microseconds from the start of the step.
///
/// A step has two GEMMs, [0, 350) and [350, 600), an all-reduce of 8 MiB, [400, 800 + 50 i) in step i, and a copy of
/// 1 MiB to the device, [0, 50). Step i thus has 600 us of compute, 400 + 50 i of communication, 200 + 50 i exposed.
struct MadeUpOperation {
  enum class What { gemm, all_reduce, copy };
  What what;
  std::int64_t start, end, launch;
  std::int64_t id;  ///< from 1
};

inline constexpr std::int64_t kMadeUpOrigin = 1'000'000;  ///< of the first step, in microseconds

/// Calls `begin(i, start, end)` for the range of each of three steps on the host, and `add` for its operations.
void for_each_made_up_step(const std::function<void(int, std::int64_t, std::int64_t)>& begin,
                           const std::function<void(const MadeUpOperation&)>& add);

/// What rocprofv3 writes of one process: its kernels on stream 7, the all-reduce on 20, copies on 24.
std::string rocprof_process(int pid = 908, int gpu = 0);
std::string rocprof_file(const std::vector<std::string>& processes);

/// The trace that XLA writes for one process with this many devices, which all do the same.
std::string jax_file(int gpus = 2);

/// What torch_npu writes of one rank. `process`: what the version calls the rows of communication.
std::string ascend_file(std::string_view process = "Communication", bool names_first = true);

/// What Kineto writes of an Intel GPU: no argument `stream`, and the collective on its operator alone.
std::string xpu_file();

/// The text with " for each '.
std::string quoted(std::string text);

}  // namespace underlap::testing_support
