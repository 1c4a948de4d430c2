// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "impl/device/cuda/cuda_device.hpp"
#include "impl/device/cuda/nccl/nccl_transport.hpp"
#include "impl/device/cuda/peer_copies/copy_engine_transport.hpp"
#include "kernels/gemm/matrix_products.hpp"
#include "tests/cuda_host/cublaslt_double.hpp"
#include "tests/cuda_host/nccl_double.hpp"
#include "tests/impl/device/cuda/host_run_implementation.hpp"
#include "tests/impl/device/device_testing.hpp"
#include "tests/testing.hpp"

namespace underlap::cuda {

/// Runs the same program as every rank of one process, one thread and one CudaDevice a rank, on a GPU and an NCCL and
/// a cuBLASLt that the host plays; with copy engines between them where peers map tensors.
class CudaRanks {
 public:
  explicit CudaRanks(std::int32_t world_size, CudaOptions options = {}, NcclOptions nccl = {}, std::uint64_t seed = 1)
      : world_size_(world_size), options_(options), nccl_(nccl), control_(nccl.peer_timeout) {
    cuda_host::Machine::instance().reset(1, seed);
    cuda_host::NcclDouble::instance().reset();
    options_.workspace_reserve = 1 << 16;
    options_.staging_slot_bytes = std::min<std::size_t>(options_.staging_slot_bytes, 1 << 12);
    if (options_.run_implementation == run_cuda_implementation)
      options_.run_implementation = run_implementation_on_host;
  }

  /// `program(device, group)`: the group is all ranks. Returns what each rank threw; empty for those that did not.
  /// Fails the test where NCCL is used wrongly: where ranks' calls differ, or touch what is gone.
  template <class Program>
  std::vector<std::string> run_each(Program program) {
    std::vector<std::string> errors(static_cast<std::size_t>(world_size_));
    notices_.assign(static_cast<std::size_t>(world_size_), {});
    std::vector<std::thread> threads;
    for (std::int32_t rank = 0; rank < world_size_; ++rank)
      threads.emplace_back([&, rank] { errors[static_cast<std::size_t>(rank)] = run_rank(rank, program); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(cuda_host::NcclDouble::instance().errors(), IsEmpty());
    return errors;
  }

  /// The same, and throws the first failure of any rank.
  template <class Program>
  void run(Program program) {
    run_each(program);
    if (const auto failure = control_.failure()) throw std::runtime_error(*failure);
  }

  ControlPlane& control() { return control_; }

  /// Of the library that is played from here on.
  void use_nccl(int version) { api_ = cuda_host::NcclDouble::api(version); }

  /// What each rank was told that cannot be honoured.
  const std::vector<std::vector<std::string>>& notices() const { return notices_; }

  /// The node that a rank says it is on.
  std::function<std::string(std::int32_t)> node_of = [](std::int32_t) { return this_node(); };

 private:
  template <class Program>
  std::string run_rank(std::int32_t rank, Program& program) {
    try {
      NcclOptions nccl = nccl_;
      nccl.rank = rank;
      NcclTransport transport(api_, control_, nccl);
      MatrixProducts products(cuda_host::CublasLtDouble::api());
      CudaOptions options = options_;
      options.rank = rank;
      options.products = &products;
      std::optional<CopyEngineTransport> copy_engines;
      if (options.peers_map_tensors)
        copy_engines.emplace(transport, control_,
                             CopyEngineOptions{.rank = rank,
                                               .peer_timeout = nccl.peer_timeout,
                                               .poll_interval = nccl.poll_interval,
                                               .node = node_of(rank)});
      Transport& joined = copy_engines ? static_cast<Transport&>(*copy_engines) : transport;
      CudaDevice device(joined, options);
      program(device, testing_support::group_of(world_size_, rank));
      notices_[static_cast<std::size_t>(rank)] = joined.notices();
      return {};
    } catch (const std::exception& error) {
      control_.fail(rank, error.what());
      return error.what();
    }
  }

  std::int32_t world_size_;
  CudaOptions options_;
  NcclOptions nccl_;
  NcclApi api_ = cuda_host::NcclDouble::api();
  ThreadControlPlane control_;
  std::vector<std::vector<std::string>> notices_;
};

}  // namespace underlap::cuda
