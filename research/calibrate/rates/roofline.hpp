// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "impl/device/device.hpp"
#include "kernels/operation.hpp"

namespace benchmark {
class State;
}

namespace underlap::bench {

/// What a machine reached in this run, in units a second.
struct Roofline {
  double copy_bytes = 0;  ///< of a copy within its memory: read and written
  double gemm_flops = 0;  ///< of a large bf16 product; 0: not known, and then nothing is bound by it
};

/// The least time that an operation of this cost takes below `roofline`, and what sets it.
struct Bound {
  double seconds = 0;
  bool is_by_copy = true;
};
Bound bound_of(const Cost& cost, const Roofline& roofline);

/// Adds to a benchmark of one operation an iteration, after its loop: bytes and floating-point operations a second,
/// roofline_share (bound_of() by the time that it took) and, as the label, what bounds it.
void report(benchmark::State& state, const Cost& cost, const Roofline& roofline);

/// Adds to a benchmark of one transfer an iteration, after its loop: algorithm and bus bandwidth in bytes a second as
/// nccl-tests defines them. Algorithm: the message by the time; bus: what a member sends by the time.
void report(benchmark::State& state, const Transfer& transfer, std::int32_t group_size);

}  // namespace underlap::bench
