// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/requirements.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

#include "platform/errors.hpp"

namespace underlap::cuda {
namespace {

constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

int major(int version) { return version / 1000; }

std::string text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string reason(const CudaQueries& queries, int status) {
  const char* words = nullptr;
  if (queries.error_text != nullptr && queries.error_text(status, &words) == 0 && words != nullptr)
    return fmt::format("{} (CUDA error {})", words, status);
  return fmt::format("CUDA error {}", status);
}

void check_driver(const CudaQueries& queries) {
  if (queries.driver_version == nullptr)
    throw MachineError(
        fmt::format("there is no NVIDIA driver on this machine: {}\n  install one for CUDA {} or newer, or start the "
                    "container with GPU access (--gpus all)",
                    queries.why_no_driver, major(queries.runtime_version)));
  int driver = 0;
  if (const int status = queries.driver_version(&driver); status != 0)
    throw MachineError(fmt::format("cannot read the version of the NVIDIA driver: {}\n  nvidia-smi may show more",
                                   reason(queries, status)));
  if (major(driver) < major(queries.runtime_version))
    throw MachineError(
        fmt::format("the NVIDIA driver is for CUDA {}, and this program was built with {}\n"
                    "  install a driver for CUDA {} or newer, or build with a toolkit of CUDA {}",
                    text(driver), text(queries.runtime_version), major(queries.runtime_version), major(driver)));
}

int count_gpus(const CudaQueries& queries) {
  if (const int status = queries.initialize(0); status != 0 && status != kNoDevice)
    throw MachineError(fmt::format(
        "the NVIDIA driver cannot be used: {}\n  nvidia-smi must work first; restart the machine after a driver update",
        reason(queries, status)));
  int count = 0;
  return queries.device_count(&count) == 0 ? count : 0;
}

void check_gpus(int count, std::int32_t needed) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string chosen = visible == nullptr ? "" : fmt::format(" (CUDA_VISIBLE_DEVICES is \"{}\")", visible);
  if (count == 0)
    throw MachineError(
        fmt::format("there is no GPU on this machine{}\n  nvidia-smi -L lists the GPUs that the driver sees", chosen));
  if (count < needed)
    throw std::invalid_argument(fmt::format(
        "{} {} available{}, but the layout needs {}, one per rank\n  data_parallel_size {} fits", count,
        count == 1 ? "GPU is" : "GPUs are", chosen, needed, count == 1 ? "1" : fmt::format("1 to {}", count)));
}

}  // namespace

void check_cuda_machine(std::int32_t needed_gpus, const CudaQueries& queries) {
  check_driver(queries);
  check_gpus(count_gpus(queries), needed_gpus);
}

void check_cuda_machine(std::int32_t needed_gpus) { check_cuda_machine(needed_gpus, system_cuda_queries()); }

}  // namespace underlap::cuda
