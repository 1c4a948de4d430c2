// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "tests/profiler/slices.hpp"

namespace underlap::viewer::testing_support {

using underlap::testing_support::communication;
using underlap::testing_support::kNoWork;
using underlap::testing_support::slice_of;

/// A trace without slices, with streams of one rank: track i is the ith of them.
inline Trace with_streams(std::initializer_list<const char*> names, std::int32_t rank = 0) {
  Trace trace;
  for (const char* name : names) trace.add_track({rank, 0, name});
  return trace;
}

/// What our own traces say of the knobs that hide communication.
inline constexpr const char* kOverlapKnobs =
    R"({"dp":{"grad_":"comm_overlap.overlap_grad_reduce","param_all_gather":"comm_overlap.overlap_param_gather"}})";

/// Two ranks, three steps of 12 ms: compute of 7 ms, and a reduce-scatter of 4 ms that begins `early_ns` before compute
/// ends; rank 1 comes to it half a millisecond late.
inline Trace two_ranks(std::int64_t early_ns) {
  constexpr std::int64_t kMs = 1'000'000;
  Trace trace;
  trace.add_group({intern("dp"), {0, 1}});
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    const std::uint32_t compute = trace.add_track({rank, 0, "compute"}), dp = trace.add_track({rank, 1, "dp"});
    trace.marks.push_back({rank, 0, 0, 0});
    for (std::int32_t step = 1; step <= 3; ++step) {
      const std::int64_t begin = (step - 1) * 12 * kMs, start = begin + 7 * kMs - early_ns, late = rank * kMs / 2;
      trace.add(
          slice_of(compute, begin, 7 * kMs, "gemm", {.direction = Direction::backward, .layer = 1, .step = step}));
      trace.add(
          slice_of(dp, start + late, 4 * kMs - late, "reduce_scatter",
                   communication(Mode::dp, "grad_reduce_scatter", step)),
          {.group = 0,
           .sequence = static_cast<std::uint64_t>(step),
           .last_arrival_ns = start + kMs / 2,
           .cpu_ns = -1,
           .transfers = {{.collective = Collective::reduce_scatter, .bytes = 1 << 20, .bytes_on_wire = 1 << 19}}});
      trace.marks.push_back({rank, 0, step, begin + 12 * kMs});
    }
  }
  trace.metadata["backend"] = "host";
  trace.metadata["overlap_knobs"] = kOverlapKnobs;
  return trace;
}

}  // namespace underlap::viewer::testing_support
