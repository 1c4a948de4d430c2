// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "bench/machine/gpu_monitor.hpp"
#include "bench/ranks/rank_runner.hpp"
#include "bench/ranks/training_texts.hpp"
#include "impl/device/cuda/capture.hpp"
#include "impl/device/cuda/control_plane.hpp"
#include "impl/device/cuda/cuda_device.hpp"
#include "impl/device/cuda/emulated_link/emulated_link.hpp"

namespace underlap::bench {

/// Resources of a rank of backend cuda; all of them outlive the rank.
struct CudaParts {
  int device = 0;                            ///< CUDA's number for the rank's GPU
  cuda::Transport* transport = nullptr;      ///< joins the ranks; null if every cell's link is emulated
  cuda::ControlPlane* control = nullptr;     ///< of the same ranks
  cuda::MatrixProducts* products = nullptr;  ///< cuBLASLt
  cuda::Attention* attention = nullptr;      ///< cuDNN; null: our own kernels
  cupti::Collector* collector = nullptr;     ///< null: no own cell of this rank is traced
  GpuMonitor* monitor = nullptr;             ///< null: clocks and power are not read
  cuda::LinkShape link_shape{};              ///< of the kernels that emulate a link
  cuda::RunImplementation run_implementation = cuda::run_cuda_implementation;
};

/// Whether a configuration's rings copy directly between the memories of their ranks, so that each rank exposes its
/// memory to the others.
bool copies_between_peers(const plan::Config& config);

/// Whether a rank's process attaches CUPTI: only if one of its own cells is traced. Once attached, CUPTI slows CUDA
/// calls even without a capture.
bool attaches_cupti(const RankContext& context);

/// One rank of a matrix on one GPU.
///
/// Slices and marks of a traced cell come from CUPTI; marks of an untraced cell are timed by events on the same clock.
/// A block is kept if its capture is incomplete: CUPTI lost a record, a kernel belongs to no operation, or a launch has
/// no kernel. capture_faults then counts the records by cause, and the marks are those of events. With run.trace:
/// strict, take() throws MachineError instead. If an emulated link's transfers stay under 98 % of the requested rate
/// even when nothing else runs, invalid_because gives that reason.
class CudaRank final : public RankRunner {
 public:
  CudaRank(const RankContext& context, const CudaParts& parts);
  ~CudaRank() override;

  void build(std::size_t cell) override;
  void run(std::size_t cell, std::int32_t block, std::int64_t steps) override;
  RankRun take(std::size_t cell) override;
  void reserve(std::size_t, std::int64_t) override {}  // CUPTI's buffers come from a pool of their own

 private:
  struct BuiltCell;
  void note(BuiltCell& built, const std::string& text) const;
  void note_once(BuiltCell& built) const;
  void guarded(std::size_t cell, const std::function<void()>& work);
  void take_trace(BuiltCell& built) const;
  void take_link(BuiltCell& built) const;
  void require_complete(const BuiltCell& built) const;

  RankContext context_;
  CudaParts parts_;
  std::string gpu_;  ///< name of the GPU as CUDA reports it
  Texts texts_;
  std::map<std::size_t, std::unique_ptr<BuiltCell>> built_;
};

}  // namespace underlap::bench
