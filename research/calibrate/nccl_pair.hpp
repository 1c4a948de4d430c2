// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <cstdint>

#include "impl/device/cuda/nccl/nccl_api.hpp"
#include "platform/temporary_folder.hpp"
#include "research/calibrate/background.hpp"

namespace underlap::bench {

/// Two ranks of NCCL on one GPU, in this process: real NCCL kernels next to a GEMM of the same CUDA context.
///
/// From NCCL 2.30 on two ranks may share a GPU (NCCL_MULTI_RANK_GPU_ENABLE), and write into each other's memory at the
/// rate of their kernels. Older ones refuse two ranks of one host on a device, and compute the host's hash once for
/// each loaded copy of the library, from NCCL_HOSTID. So these are loaded twice, from two files, and each copy gets a
/// host of its own before its first communicator. Their transfers then take sockets of the loopback interface, 1 to 4
/// GB/s, through host memory. On an H200 a concurrent GEMM took 3.5 times as long, and 1.4 times as long with transfers
/// in device memory. Source: NCCL 2.28 and 2.30, misc/utils.cc (getHostHashOnce) and init.cc (duplicate GPUs).
///
///   stream of rank 0 | all_gather | all_gather |     ring, protocol Simple, `sms` blocks each
///   stream of rank 1 | all_gather | all_gather |
class NcclPair final : public Background {
 public:
  struct Options {
    int sms = 16;
    int cga_size = 4;
    std::int64_t message_bytes = 0;  ///< of an all_gather over sockets, as nccl-tests counts them
  };
  /// Sets NCCL's variables in this process, which has used no NCCL before. CUDA_MODULE_LOADING is EAGER, or
  /// the load of one rank's kernel may wait for the other's. Throws MachineError.
  explicit NcclPair(const Options& options);
  ~NcclPair() override;

  void enqueue(int transfers) override;
  cudaStream_t stream() const override { return ranks_[0].stream.get(); }
  void synchronize() override;

  /// Rate of a rank's transfers in each direction with nothing else running, GB/s: median of several.
  double measure_gb_per_s();
  /// Size of one transfer. In device memory it is kByMemory times the requested size, so that it outlasts a GEMM.
  std::int64_t message_bytes() const { return 2 * shard_bytes_; }
  /// Whether transfers use the GPU's memory instead of sockets.
  bool is_by_memory() const { return ranks_[0].api.version >= kFirstToShareGpus; }

 private:
  static constexpr int kFirstToShareGpus = 23000;  // 2.30
  static constexpr std::int64_t kByMemory = 16;
  struct Rank {
    cuda::NcclApi api;
    ncclComm_t communicator = nullptr;
    cuda::StreamHandle stream;
    cuda::DeviceBytes input;
    cuda::DeviceBytes output;
  };
  void share_the_gpu();
  void pretend_two_hosts();
  void fix_host(int rank);
  void connect(const Options& options);

  std::int64_t shard_bytes_;
  TemporaryFolder folder_;  // of the second file
  Rank ranks_[2];
};

}  // namespace underlap::bench
