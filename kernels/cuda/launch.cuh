// SPDX-License-Identifier: Apache-2.0
#pragma once

// Included by every .cu file. Each file is compiled twice: by nvcc for GPUs, and by the host's compiler for tests
// without one. For those, tests/cuda_host/device_code.hpp, included from the command line, emulates a GPU's threads.
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
  /// Blocks of a thread-block cluster, spread over the multiprocessors of its GPC; 0: no clusters. From sm_90 on, and
  /// `blocks` is a multiple of it.
  unsigned cluster = 0;
  bool is_remote_domain =
      false;  ///< memory fences of this kernel and of those in other domains do not wait for each other; sm_90
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
  cudaLaunchAttribute attributes[3] = {};
  unsigned count = 0;
  if (shape.cluster > 0) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = shape.cluster;
    attributes[count].val.clusterDim.y = attributes[count].val.clusterDim.z = 1;
    attributes[++count].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
    attributes[count++].val.clusterSchedulingPolicyPreference = cudaClusterSchedulingPolicySpread;
  }
  if (shape.is_remote_domain) {
    attributes[count].id = cudaLaunchAttributeMemSyncDomain;
    attributes[count++].val.memSyncDomain = cudaLaunchMemSyncDomainRemote;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.blocks;
  config.blockDim = shape.threads;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(std::forward<Values>(values))...));
  check(cudaGetLastError());
#else
  check(cuda_host::launch_kernel({.blocks = shape.blocks,
                                  .threads = shape.threads,
                                  .shared_bytes = shape.shared_bytes,
                                  .cluster = shape.cluster,
                                  .is_remote_domain = shape.is_remote_domain,
                                  .thread_code = [kernel, ... copies = static_cast<Parameters>(
                                                              std::forward<Values>(values))] { kernel(copies...); }},
                                 stream));
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
