// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "impl/device/device.hpp"

namespace underlap::bench {

/// How long a benchmark of the host lasts in seconds, where the user does not say.
struct HostBenchmarks {
  double min_seconds = 0.05;  ///< 0: Google Benchmark's own
};

/// Register host/OPERATION/SHAPE, each on the thread that runs it, and host/COLLECTIVE/BYTES between two threads.
void add_host_operations(const HostBenchmarks& options);
void add_host_collectives(const HostBenchmarks& options);

/// How CUDA is benchmarked.
struct CudaBenchmarks {
  double warm_up_s = 2;   ///< of GEMM before the first timing
  bool is_trial = false;  ///< tiny shapes, to try the program out
};

/// Registers cuda/OPERATION/SHAPE, cuda/cublaslt_alone/SHAPE and cuda/COLLECTIVE_emulated/BYTES for the current device.
/// Returns why there are none, or nothing.
std::string add_cuda_benchmarks(const CudaBenchmarks& wanted);

/// A collective among `members` as one of them gives it, of bf16, and `bytes` bytes as nccl-tests counts them. Tensor 1
/// is its input, tensor 2 its output.
inline Transfer transfer_of(Collective collective, std::int64_t bytes, std::int32_t members) {
  const auto view = [](std::uint32_t id, std::int64_t elements) {
    return flat(Tensor{.id = id, .dtype = DataType::bf16, .elements = elements});
  };
  const std::int64_t all = bytes / size_of(DataType::bf16), shard = all / members;
  return {.collective = collective,
          .input = view(1, collective == Collective::all_gather ? shard : all),
          .output = view(2, collective == Collective::reduce_scatter ? shard : all)};
}

}  // namespace underlap::bench
