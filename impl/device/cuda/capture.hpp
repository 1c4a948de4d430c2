// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "impl/device/cuda/tracer.hpp"
#include "profiler/collect/cupti/assemble.hpp"
#include "profiler/collect/cupti/collector.hpp"
#include "profiler/collect/nvtx/nvtx_ranges.hpp"

namespace underlap::cuda {

/// Records the work of a rank's device by CUPTI, and marks it as NVTX ranges for other tools.
///
/// The collector belongs to the process and serves one capture at a time: devices of several cells take turns, each
/// between start() and take().
class Capture final : public Tracer {
 public:
  /// `collector` outlives the capture; null: NVTX ranges alone.
  Capture(cupti::Collector* collector, std::int32_t rank);

  void add_stream(std::uint32_t stream, std::string_view name) override;
  void add_group(std::uint32_t communicator, const GroupRecord& group) override;
  void push(const EnqueuedOperation& operation) override;
  void pop() noexcept override;

  /// From here on operations are kept, until take(). Call while the device is idle.
  void start();

  /// Missing parts of the records, by cause.
  struct Fault {
    std::string cause;       ///< "dropped", "no buffer", "unreadable", "untagged", "lost" or "inconsistent"
    std::int64_t count = 0;  ///< records
    std::string example;     ///< one of them, in words
  };
  struct Taken {
    cupti::Assembled assembled;
    /// Records that were lost, kernels that no operation owns, marks, launches and transfers without a kernel. Empty:
    /// the capture is complete.
    std::vector<Fault> faults;
    /// Requests that were not met, one line each: kernels that exceeded their SM budget.
    std::vector<std::string> notices;
    cupti::Recording recording;  ///< where the collector keeps raw bytes
  };
  /// Takes what the device did since start(). Call while the device is idle.
  Taken take();

 private:
  cupti::Collector* collector_;
  NvtxRanges ranges_;
  bool is_on_ = false;
  std::vector<cupti::OperationRecord> operations_;
  cupti::RankOfTrace rank_;
};

}  // namespace underlap::cuda
