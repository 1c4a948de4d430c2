// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/launch_context.hpp"
#include "profiler/trace/communication.hpp"
#include "research/calibrate/gpu.hpp"

namespace underlap::bench {

class Background;

/// What of libraries an operation's CUDA implementation may need; owned by the caller.
struct CudaLibraries {
  cuda::MatrixProducts* products = nullptr;
  cuda::Attention* attention = nullptr;
};

struct CudaGpuOptions {
  CudaLibraries libraries;
  std::int64_t workspace_bytes = std::int64_t{64} << 20;  ///< at first
  /// Buffers are rotated until so many bytes lie between two uses of one: more than any L2 cache.
  std::int64_t rotated_bytes = std::int64_t{256} << 20;
  /// work_us() and implementation_us() time as many calls together as take this long, so that what a launch costs is no
  /// part of a short kernel's time; 0: each by itself.
  double together_us = 0;
  int calls = 200;                                      ///< of the host, for one sample
  double probe_us = 200;                                ///< of a long kernel among the queue probes
  std::int64_t message_bytes = std::int64_t{64} << 20;  ///< of one transfer of a communication in the background
  std::int64_t warm_up_side = 8192;                     ///< of the square product that warms up
};

/// The device part of the calibration: CUDA's current device, timed by CUDA events and by %globaltimer.
class CudaGpu final : public Gpu {
 public:
  /// Throws MachineError where there is no GPU.
  explicit CudaGpu(const CudaGpuOptions& options);
  ~CudaGpu() override;

  int num_sms() const override;
  std::vector<double> host_call_us(HostCall call, int samples) override;
  std::vector<double> empty_kernel_us(int samples) override;
  std::vector<double> copy_us(std::int64_t bytes, int samples) override;
  std::vector<double> work_us(const Work& work, int samples) override;

  /// As work_us() with `implementation` in the place of the operation's own. Throws MachineError also where a token was
  /// wrong.
  using Implementation = std::function<void(const Arguments&, cuda::LaunchContext&)>;
  std::vector<double> implementation_us(const Work& work, const Implementation& implementation, int samples);

  /// Microseconds of a collective of eight over the emulated link: all_gather, reduce_scatter or all_reduce of `bytes`
  /// bytes as nccl-tests counts them, a multiple of 16.
  std::vector<double> collective_us(Collective collective, const Communication& communication, std::int64_t bytes,
                                    int samples);

  Beside work_beside_us(const Work& work, const Communication& communication, int samples) override;
  /// Times the operation while `background` communicates.
  Beside work_beside_us(const Work& work, Background& background, int samples);
  std::vector<LinkRound> link_rounds(const Work& work, const RankPair& pair, int rounds, int samples) override;
  void warm_up(double seconds) override;
  std::vector<double> held(std::string_view behind, bool same_queue, int samples) override;

  /// gpu, driver and runtime in words, for the file.
  std::vector<std::pair<std::string, std::string>> machine() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace underlap::bench
