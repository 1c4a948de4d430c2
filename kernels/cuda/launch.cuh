// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every .cu file starts from. The same file is compiled twice: by nvcc for GPUs, and by the host's compiler for
// tests without one, where tests/cuda_host/device_code.hpp, included from the command line, stands in for a GPU's
// threads.
#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/implementations.hpp"

namespace underlap::cuda {

/// Where and how wide a kernel runs.
struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = 256;        ///< a block
  std::size_t shared_bytes = 0;  ///< dynamic shared memory of a block
};

/// Dynamic shared memory that no kernel has to ask for: static and dynamic, a block has 48 KiB unasked, and no kernel
/// that has both declares more than the rest.
inline constexpr std::size_t kUnaskedSharedBytes = 16 * 1024;

/// Enqueues `kernel` on `stream`. Arguments are converted to the kernel's parameter types and copied.
/// Throws MachineError where the launch is refused.
template <class... Parameters, class... Values>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream, Values&&... values) {
#ifdef __CUDACC__
  if (shape.shared_bytes > kUnaskedSharedBytes)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shape.shared_bytes)));
  kernel<<<shape.blocks, shape.threads, shape.shared_bytes, stream>>>(
      static_cast<Parameters>(std::forward<Values>(values))...);
  check(cudaGetLastError());
#else
  check(cuda_host::launch_kernel(
      shape.blocks, shape.threads, shape.shared_bytes, stream,
      [kernel, ... copies = static_cast<Parameters>(std::forward<Values>(values))] { kernel(copies...); }));
#endif
}

/// A block's dynamic shared memory.
__device__ inline std::byte* dynamic_shared_memory() {
#ifdef __CUDACC__
  extern __shared__ uint4 memory[];
  return reinterpret_cast<std::byte*>(memory);
#else
  return cuda_host::dynamic_shared_memory();
#endif
}

/// Blocks of `threads` that cover `elements`, at most `limit` of them.
inline unsigned blocks_for(std::int64_t elements, std::int64_t per_block, std::int64_t limit = 1 << 30) {
  const std::int64_t blocks = (elements + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < limit ? blocks : limit);
}

}  // namespace underlap::cuda
