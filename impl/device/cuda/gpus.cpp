// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/gpus.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "kernels/cuda/check.hpp"
#include "platform/errors.hpp"

namespace underlap::cuda {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version / 10 % 100); }

[[noreturn]] void refuse_driver(int driver) {
  int runtime = 0;
  (void)cudaRuntimeGetVersion(&runtime);
  if (driver == 0)
    throw MachineError(
        "no NVIDIA driver was found: --backend cuda needs one (--backend host and --backend sim do not; in a "
        "container, --gpus all hands it in)");
  throw MachineError(
      fmt::format("the NVIDIA driver is for CUDA up to {} and this program carries the runtime of {}: install a newer "
                  "driver, or build with an older toolkit (12.4 or later)",
                  version_text(driver), version_text(runtime)));
}

}  // namespace

int require_gpus(int needed, const std::string& layout) {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaErrorInsufficientDriver) {
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    refuse_driver(driver);
  }
  if (result == cudaErrorNoDevice || (result == cudaSuccess && count == 0))
    throw MachineError("a driver is there but no GPU is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES");
  check(result);
  if (count < needed)
    throw MachineError(
        fmt::format("{} needs {} GPUs and this machine has {}: a layout of {} {} would fit, or --link emulated on one",
                    layout, needed, count, count, count == 1 ? "rank" : "ranks"));
  return count;
}

}  // namespace underlap::cuda
