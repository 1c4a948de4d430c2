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

/// Ranks with three steps of 12 ms: compute of 7 ms, and a reduce-scatter of 4 ms that begins `early_ns` before compute
/// ends; the last rank comes to it half a millisecond late.
inline Trace ranks_of_one_group(std::int32_t num_ranks, std::int64_t early_ns = 0) {
  constexpr std::int64_t kMs = 1'000'000;
  Trace trace;
  GroupRecord group;
  group.purpose = intern("dp");
  for (std::int32_t rank = 0; rank < num_ranks; ++rank) group.ranks.push_back(rank);
  trace.add_group(group);
  for (std::int32_t rank = 0; rank < num_ranks; ++rank) {
    const std::uint32_t compute = trace.add_track({rank, 0, "compute"}), dp = trace.add_track({rank, 1, "dp"});
    trace.marks.push_back({rank, 0, 0, 0});
    for (std::int32_t step = 1; step <= 3; ++step) {
      const std::int64_t begin = (step - 1) * 12 * kMs, start = begin + 7 * kMs - early_ns,
                         late = rank + 1 == num_ranks ? kMs / 2 : 0;
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

inline Trace two_ranks(std::int64_t early_ns) { return ranks_of_one_group(2, early_ns); }

/// As a reader of another tool's trace leaves it: stream 7 computes, streams 20 and 7 communicate in two groups.
inline Trace foreign_trace() {
  Trace trace;
  const std::uint32_t compute = trace.add_track({0, 7, "stream 7"}), comm = trace.add_track({0, 20, "stream 20"});
  const auto kernel = [](std::uint32_t track, std::int64_t start, const char* name) {
    return underlap::testing_support::foreign_slice(track, start, start + 100'000, name);
  };
  const auto group = [&](const char* name, const char* description) {
    return trace.add_group({.ranks = {0, 1}, .name = intern(name), .description = intern(description)});
  };
  const auto record = [](std::uint32_t of, std::uint64_t sequence) {
    return CommunicationRecord{.group = of, .sequence = sequence, .transfers = {{.bytes = 1 << 20}}};
  };
  const std::uint32_t first = group("5", "blue"), second = group("6", "red");
  trace.add(kernel(compute, 0, "void gemm<float>(float*)"));
  trace.add(kernel(comm, 200'000, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)"), record(first, 0));
  trace.add(kernel(compute, 400'000, "ncclDevKernel_AllGather_RING_LL(args)"), record(second, 0));
  return trace;
}

}  // namespace underlap::viewer::testing_support
