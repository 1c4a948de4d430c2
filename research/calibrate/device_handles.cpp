// SPDX-License-Identifier: Apache-2.0
#include "research/calibrate/device_handles.hpp"

#include "impl/device/cuda/emulated_link/link_kernel.hpp"
#include "kernels/cuda/check.hpp"

namespace underlap::bench {

using cuda::check;

cuda::StreamHandle make_priority_stream() {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  return cuda::make_stream(greatest);
}

cuda::DeviceBytes make_filled_bytes(std::int64_t bytes, cudaStream_t stream) {
  cuda::DeviceBytes memory = cuda::make_device_bytes(static_cast<std::size_t>(bytes));
  cuda::launch_staging_fill(memory.get(), bytes, stream);
  return memory;
}

double elapsed_us(const cuda::EventHandle& from, const cuda::EventHandle& to) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, from.get(), to.get()));
  return static_cast<double>(ms) * 1e3;
}

}  // namespace underlap::bench
