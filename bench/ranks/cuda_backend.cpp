// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/cuda_backend.hpp"

#include <cuda_runtime_api.h>

#include <fmt/format.h>

#include <cstdlib>

#include "bench/launch/launch_environment.hpp"
#include "bench/ranks/cuda_rank.hpp"
#include "bench/ranks/gpu_room.hpp"
#include "bench/ranks/process_session.hpp"
#include "impl/device/cuda/nccl/nccl_transport.hpp"
#include "impl/device/cuda/peer_copies/copy_engine_transport.hpp"
#include "impl/device/cuda/requirements.hpp"
#include "impl/device/cuda/store_control_plane.hpp"
#include "kernels/attention/cudnn_api.hpp"
#include "kernels/attention/cudnn_attention.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/gemm/matrix_products.hpp"
#include "platform/exit_code.hpp"
#include "platform/text/output.hpp"

namespace underlap::bench {

bool has_cuda_backend() { return true; }

void check_cuda_backend(std::span<const plan::Cell> cells, std::int32_t most_ranks) {
  check_caller_environment(cells);
  try {
    cuda::check_cuda_machine(std::min(most_ranks, world_size(cells)));
  } catch (const MachineError& error) {
    throw MachineError(fmt::format("backend cuda: {}, or run with --backend host or sim", error.what()));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("backend cuda: {}", error.what()));
  }
}

std::int64_t gpu_bytes() {
  cudaDeviceProp properties{};  // reading them creates no context
  if (cudaGetDeviceProperties(&properties, 0) == cudaSuccess)
    return static_cast<std::int64_t>(properties.totalGlobalMem);
  (void)cudaGetLastError();
  return 0;
}

namespace {

// Peer copies work only within one operating system.
void check_peer_copies(std::span<const plan::Cell> cells, const Placement& placement) {
  for (const plan::Cell& cell : cells)
    if (const std::string crossing = tensor_parallel_warning(cell, placement);
        copies_between_peers(cell.plan.config) && !crossing.empty())
      throw std::invalid_argument("extensions.tp_ring_transport is copy_engine, which works only within a node: " +
                                  crossing);
}

}  // namespace

std::unique_ptr<Session> make_cuda_session(std::span<const plan::Cell> cells, std::int32_t first_step,
                                           const SessionOptions& options) {
  if (options.placement != nullptr) check_peer_copies(cells, *options.placement);
  // A launcher may have left each rank its own GPU, so the ranks check which GPUs exist.
  check_cuda_backend(cells, options.starter != nullptr ? 1 : kAllRanks);
  return std::make_unique<ProcessSession>(cells, first_step, options, options_of_gpu_ranks());
}

namespace {

// Runs no destructors: each would wait for the work that hangs. The run shows a rank's last lines with its end.
void end_rank(const std::string& why) {
  print_error("{}\n", why);
  std::_Exit(kRunFailed);
}

int device_of(const RankContext& context) {
  int count = 0;
  cuda::check(cudaGetDeviceCount(&count));
  const std::int32_t local_rank = context.environment.local_rank;
  if (local_rank < count) return local_rank;
  if (count == 1) return 0;
  throw std::invalid_argument(fmt::format(
      "rank {} has local rank {} on its machine, but sees {} GPUs: start as many ranks on a machine as it has GPUs",
      context.rank, local_rank, count));
}

// "0000:65:00.0"; empty if CUDA does not provide it.
std::string bus_id_of(int device) {
  std::array<char, 32> bus{};
  return cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device) == cudaSuccess ? bus.data() : "";
}

// A warning if this process is far from its GPU.
std::string far_from_gpu(int device) {
  const std::string bus = bus_id_of(device);
  return bus.empty() ? "" : far_gpu_warning(own_place().numa_nodes, numa_node_of_device(bus));
}

void check_room(const RankContext& context) {
  std::size_t free_bytes = 0, total_bytes = 0;
  cuda::check(cudaMemGetInfo(&free_bytes, &total_bytes));
  check_gpu_room(context.cells, context.own_cells, static_cast<std::int64_t>(free_bytes),
                 static_cast<std::int64_t>(total_bytes));
}

/// A rank of backend cuda in this process, with the libraries that it opened.
class CudaRankProcess final : public RankRunner {
 public:
  explicit CudaRankProcess(const RankContext& context)
      : control_(*context.store, cuda::connecting_timeout(peer_timeout(context.cells))) {
    // Capture starts before the first CUDA call and is on while the context is created: CUPTI then prepares its buffers
    // on the device. Its work for kernels that are loaded later falls into the warm-up.
    if (attaches_cupti(context)) {
      cupti_ = std::make_unique<cupti::Api>(cupti::Api::load());
      collector_ = std::make_unique<cupti::Collector>(*cupti_, cupti::CollectorOptions{.rank = context.rank});
      collector_->start();
    }
    const int device = device_of(context);
    far_from_gpu_ = far_from_gpu(device);
    monitor_ = std::make_unique<GpuMonitor>(bus_id_of(device));
    number_ = context.rank;
    cuda::check(cudaSetDevice(device));
    cuda::check(cudaFree(nullptr));  // creates the context
    if (collector_) {
      collector_->stop();
      (void)collector_->drain();  // records of the context's creation belong to no cell
    }
    check_room(context);
    products_ = std::make_unique<cuda::MatrixProducts>(cuda::CublasLtApi::load());
    attention_ = std::make_unique<cuda::Attention>(cuda::CudnnApi::load());
    if (any_own_cell(context, [](const plan::Config& config) { return !config.run.emulated_link; })) {
      nccl_ = std::make_unique<cuda::NcclApi>(cuda::NcclApi::load());
      transport_ = std::make_unique<cuda::NcclTransport>(
          *nccl_, control_,
          cuda::NcclOptions{.rank = context.rank,
                            .device = device,
                            .peer_timeout = peer_timeout(context.cells),
                            .connecting_timeout = cuda::connecting_timeout(peer_timeout(context.cells)),
                            .end_process = end_rank});
    }
    cuda::Transport* transport = transport_.get();
    if (any_own_cell(context, copies_between_peers)) {
      copy_engines_ = std::make_unique<cuda::CopyEngineTransport>(
          *transport_, control_,
          cuda::CopyEngineOptions{.rank = context.rank, .device = device, .peer_timeout = peer_timeout(context.cells)});
      transport = copy_engines_.get();
    }
    rank_ = std::make_unique<CudaRank>(context, CudaParts{.device = device,
                                                          .transport = transport,
                                                          .control = &control_,
                                                          .products = products_.get(),
                                                          .attention = attention_.get(),
                                                          .collector = collector_.get(),
                                                          .monitor = monitor_.get()});
  }

  void build(std::size_t cell) override { rank_->build(cell); }
  void run(std::size_t cell, std::int32_t block, std::int64_t steps) override {
    is_measured_ = block >= 0;
    rank_->run(cell, block, steps);
  }
  RankRun take(std::size_t cell) override {
    RankRun run = rank_->take(cell);
    if (is_measured_ && !far_from_gpu_.empty() && warned_of_.insert(cell).second)
      run.notes.push_back(fmt::format("rank {}: {}", number_, far_from_gpu_));
    if (clock_offset_ns_ != 0) run.trace.shift(clock_offset_ns_);
    return run;
  }
  void set_clock_offset(std::int64_t ns) override { clock_offset_ns_ = ns; }
  void reserve(std::size_t cell, std::int64_t steps) override { rank_->reserve(cell, steps); }
  void give_up() noexcept override {
    if (copy_engines_ != nullptr) return copy_engines_->abort();  // with those of NCCL
    if (transport_ != nullptr) transport_->abort();
  }

 private:
  cuda::StoreControlPlane control_;
  std::unique_ptr<cupti::Api> cupti_;
  std::unique_ptr<cupti::Collector> collector_;
  std::unique_ptr<GpuMonitor> monitor_;
  std::unique_ptr<cuda::MatrixProducts> products_;
  std::unique_ptr<cuda::Attention> attention_;
  std::unique_ptr<cuda::NcclApi> nccl_;
  std::unique_ptr<cuda::NcclTransport> transport_;
  std::unique_ptr<cuda::CopyEngineTransport> copy_engines_;  // wraps transport_ if a cell uses copy engines
  std::unique_ptr<CudaRank> rank_;
  std::int64_t clock_offset_ns_ = 0;
  std::int32_t number_ = 0;
  bool is_measured_ = false;  // the last run
  std::string far_from_gpu_;  // empty: it is near, or unknown
  std::set<std::size_t> warned_of_;
};

}  // namespace

std::unique_ptr<RankRunner> make_cuda_rank(const RankContext& context) {
  return std::make_unique<CudaRankProcess>(context);
}

}  // namespace underlap::bench
