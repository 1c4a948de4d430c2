// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "bench/ranks/rank_runner.hpp"
#include "bench/ranks/texts.hpp"
#include "impl/device/cuda/capture.hpp"
#include "impl/device/cuda/control_plane.hpp"
#include "impl/device/cuda/cuda_device.hpp"
#include "impl/device/cuda/emulated_link/emulated_link.hpp"

namespace underlap::bench {

/// What a rank of backend cuda works with; all of it outlives the rank.
struct CudaParts {
  int device = 0;                            ///< CUDA's number of the rank's GPU
  cuda::Transport* transport = nullptr;      ///< that joins the ranks; null where every cell's link is emulated
  cuda::ControlPlane* control = nullptr;     ///< of the same ranks
  cuda::MatrixProducts* products = nullptr;  ///< cuBLASLt
  cuda::Attention* attention = nullptr;      ///< cuDNN; null: our own kernels
  cupti::Collector* collector = nullptr;     ///< null: no cell of this rank's own is traced
  cuda::LinkShape link_shape{};              ///< of the kernels that play a link
  cuda::RunImplementation run_implementation = cuda::run_cuda_implementation;
};

/// Whether a configuration's rings copy between the memory of their ranks, which each shows the others then.
bool copies_between_peers(const plan::Config& config);

/// Whether the process of a rank is to have CUPTI: where a cell of its own is traced. Attached, it costs calls to CUDA
/// something whether a capture is on or not, so processes of untraced cells are without.
bool attaches_cupti(const RankContext& context);

/// One rank of a matrix on one GPU.
///
/// A traced cell's slices and marks are CUPTI's; of one that is not traced, marks are timed by events on the same
/// clock. A measured block of which CUPTI lost a record, in which a kernel belongs to no operation or in which a launch
/// has no kernel, tells nothing: take() throws MachineError and says which. One whose emulated link stayed under 98 %
/// of the rate asked for is there, with invalid_because.
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
  void tell_of_cupti(BuiltCell& built) const;
  void guarded(std::size_t cell, const std::function<void()>& work);
  void check_block(const BuiltCell& built, const std::vector<std::string>& faults) const;

  RankContext context_;
  CudaParts parts_;
  std::string gpu_;  ///< what CUDA calls it
  Texts texts_;
  std::map<std::size_t, std::unique_ptr<BuiltCell>> built_;
};

}  // namespace underlap::bench
