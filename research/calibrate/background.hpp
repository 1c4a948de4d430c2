// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "impl/device/cuda/emulated_link/emulated_link.hpp"
#include "profiler/trace/communication.hpp"
#include "research/calibrate/device_handles.hpp"
#include "research/calibrate/gpu.hpp"

namespace underlap::bench {

/// Communication that runs while something else is timed.
class Background {
 public:
  virtual ~Background() = default;

  /// Enqueues `transfers` transfers, one after the other.
  virtual void enqueue(int transfers) = 0;
  /// The stream on which to record start and end events. The caller owns none of the streams.
  virtual cudaStream_t stream() const = 0;
  virtual void synchronize() = 0;
  /// Rate in each direction since the last call, GB/s; nullopt: too little data. The device is idle.
  virtual std::optional<double> carried_gb_per_s() { return std::nullopt; }
};

/// Collectives of `ranks` members over an emulated link in groups. Each is one kernel (of up to 40) that stays resident
/// until its end.
class EmulatedBackground final : public Background {
 public:
  struct Options {
    Communication communication;
    int cga_size = 0;                ///< 0: as in NCCL
    std::int64_t message_bytes = 0;  ///< of one collective, as counted by nccl-tests
    std::int32_t ranks = 8;
    Collective collective = Collective::all_gather;
    bool polls = false;  ///< LinkShape::polls
  };
  EmulatedBackground(const Options& options, cudaStream_t stream);
  ~EmulatedBackground() override;

  void enqueue(int transfers) override;
  cudaStream_t stream() const override { return stream_; }
  void synchronize() override;
  std::optional<double> carried_gb_per_s() override { return link_.report().achieved_gb_per_s; }

 private:
  cuda::EmulatedLink link_;
  std::unique_ptr<cuda::Channel> channel_;
  Collective collective_;
  std::int64_t inputs_;  // elements
  std::int64_t outputs_;
  cuda::DeviceBytes input_;
  cuda::DeviceBytes output_;
  cudaStream_t stream_;
  std::uint64_t sequence_ = 0;
};

/// Two ranks of one group on this GPU, each with its own emulated link: the counterpart of NcclPair.
class EmulatedPair final : public Background {
 public:
  explicit EmulatedPair(const EmulatedBackground::Options& options);

  void enqueue(int transfers) override;
  cudaStream_t stream() const override { return streams_[0].get(); }
  void synchronize() override;
  std::optional<double> carried_gb_per_s() override;

 private:
  cuda::StreamHandle streams_[2];
  std::unique_ptr<EmulatedBackground> ranks_[2];
};

}  // namespace underlap::bench
