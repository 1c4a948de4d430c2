// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "research/calibrate/works.hpp"

namespace underlap::bench {

/// A call that takes time on the host.
enum class HostCall : std::uint8_t { launch, record, wait, copy };

/// A communication that runs while something else is timed.
struct Communication {
  bool copy_engine = false;
  int sms = 0;
  double gb_per_s = 0;  ///< 0: unlimited
};

/// An operation's times during a communication, and the communication's rate.
struct Beside {
  std::vector<double> us;
  std::optional<double> gb_per_s = {};  ///< of the busier direction; nullopt: too little data to compute it
};

/// Two ranks of one collective on one GPU.
struct RankPair {
  int sms = 16;      ///< blocks of each rank's kernel
  int cga_size = 4;  ///< blocks of a cluster
  std::int64_t message_bytes = 0;
};

/// An operation's times, each the median of the round's samples. Rounds alternate between the four cases, so that clock
/// drift affects all of them equally.
struct LinkRound {
  double alone_us = 0;
  double nccl_us = 0;           ///< concurrent with NCCL's kernels of both ranks
  double emulated_us = 0;       ///< concurrent with two emulated links of the same rate
  double polling_us = 0;        ///< likewise, where their blocks poll instead of sleeping
  double gb_per_s = 0;          ///< of NCCL's transfers measured alone, in each direction
  double unpaced_gb_per_s = 0;  ///< of the emulated links without pacing: the most that their blocks move
  bool by_memory = false;       ///< NCCL's transfers used the GPU's memory, not sockets
};

/// Experiments on a GPU. Every result has one value for each sample. Throws MachineError if the device fails, and
/// std::invalid_argument if an operation has no CUDA implementation.
class Gpu {
 public:
  virtual ~Gpu() = default;

  virtual int num_sms() const = 0;

  /// Microseconds of host time for one call, averaged over many calls while the device keeps up.
  virtual std::vector<double> host_call_us(HostCall call, int samples) = 0;

  /// Microseconds from one empty kernel to the next one after it, on the device.
  virtual std::vector<double> empty_kernel_us(int samples) = 0;

  /// Microseconds of a copy of `bytes` bytes within the device's memory.
  virtual std::vector<double> copy_us(std::int64_t bytes, int samples) = 0;

  /// Microseconds of an operation alone.
  virtual std::vector<double> work_us(const Work& work, int samples) = 0;

  /// The same while `communication` is resident from before the operation starts until after it ends. Throws
  /// MachineError if this machine cannot run such a communication.
  virtual Beside work_beside_us(const Work& work, const Communication& communication, int samples) = 0;

  /// Times the operation while two ranks of NCCL communicate on this GPU, and while two emulated links do so at the
  /// rate that NCCL reaches here. Throws MachineError if NCCL cannot run two ranks on one GPU.
  virtual std::vector<LinkRound> link_rounds(const Work& work, const RankPair& pair, int rounds, int samples) = 0;

  /// Keeps the GPU busy for `seconds`: an idle GPU has low clocks.
  virtual void warm_up(double seconds) = 0;

  /// Tests whether a kernel is held up by work on another stream. A kernel runs on stream 0 for a while. `behind`
  /// describes the work on stream 1: nothing; kernel: a kernel after another that runs as long; wait: a wait for an
  /// event after stream 0's kernel; record: an event recorded after a kernel that runs as long. Then a kernel is
  /// launched on another stream: one that shares stream 1's hardware queue if streams are assigned round robin, or the
  /// next one. Returns when it started, as a fraction of the time that the long kernels ran.
  virtual std::vector<double> held(std::string_view behind, bool same_queue, int samples) = 0;
};

}  // namespace underlap::bench
