// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "tests/profiler/slices.hpp"

namespace underlap {

inline CommunicationRecord record_of(std::uint32_t group, std::uint64_t sequence,
                                     Collective collective = Collective::all_reduce, std::int32_t peer = -1) {
  return {.group = group, .sequence = sequence, .transfers = {{.collective = collective, .peer = peer}}};
}

/// A job of several ranks as readers of foreign traces leave it, written down slice by slice: a compute stream (0), a
/// communication stream (1) and a thread (2) for each rank.
class JobTrace {
 public:
  explicit JobTrace(std::int32_t num_ranks) {
    for (std::int32_t rank = 0; rank < num_ranks; ++rank) {
      trace.add_track({.rank = rank, .stream = 7, .name = "stream 7", .device = rank});
      trace.add_track({.rank = rank, .stream = 20, .name = "stream 20", .device = rank});
      trace.add_track({.rank = rank, .stream = 99, .name = "thread 99", .kind = TrackKind::thread});
    }
  }

  std::uint32_t kernel(std::int32_t rank, std::int64_t start, std::int64_t end, std::string_view name = "gemm") {
    return add(testing_support::slice_of(track(rank, 0), start, end - start, name));
  }

  /// A call of the rank's thread that launches nothing.
  std::uint32_t host(std::int32_t rank, std::int64_t start, std::int64_t end, std::string_view name) {
    return add(testing_support::slice_of(track(rank, 2), start, end - start, name, testing_support::kNoWork));
  }

  std::uint32_t call(std::int32_t rank, std::int64_t start, std::int64_t end, std::uint32_t launched) {
    const std::uint32_t slice = host(rank, start, end, "cudaLaunchKernel");
    trace.flows.push_back({slice, launched, FlowKind::launch});
    return slice;
  }

  /// Communication that names no communicator.
  std::uint32_t nccl(std::int32_t rank, std::int64_t start, std::int64_t end,
                     std::string_view name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", Mode mode = Mode::none) {
    return add(communication(rank, start, end, name, mode));
  }

  /// Communication of a group, as its record says.
  std::uint32_t nccl(std::int32_t rank, std::int64_t start, std::int64_t end, const CommunicationRecord& record,
                     Mode mode = Mode::dp) {
    trace.add(communication(rank, start, end, "ncclDevKernel", mode), record);
    return static_cast<std::uint32_t>(trace.size() - 1);
  }

  std::uint32_t group(std::vector<std::int32_t> ranks, std::string_view name = "1") {
    return trace.add_group({.ranks = std::move(ranks), .name = intern(name)});
  }

  /// The group of all ranks.
  std::uint32_t all() {
    std::vector<std::int32_t> ranks(trace.tracks.size() / 3);
    std::iota(ranks.begin(), ranks.end(), 0);
    return group(std::move(ranks));
  }

  static std::uint32_t track(std::int32_t rank, std::uint32_t which) {
    return static_cast<std::uint32_t>(rank) * 3 + which;
  }

  Trace trace;

 private:
  static Slice communication(std::int32_t rank, std::int64_t start, std::int64_t end, std::string_view name,
                             Mode mode) {
    return testing_support::slice_of(track(rank, 1), start, end - start, name,
                                     {.kind = Kind::communication, .mode = mode});
  }

  std::uint32_t add(const Slice& slice) {
    trace.add(slice);
    return static_cast<std::uint32_t>(trace.size() - 1);
  }
};

}  // namespace underlap
